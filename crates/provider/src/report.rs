//! What is told about a run: steps to the journal where there is one, one line to standard error.
//!
//! The kubelet throws standard error away when the plugin succeeds and appends it to its own error when not. The
//! phrases are those of the Go plugin, since tests and people look for them.

use std::cell::RefCell;
use std::fmt::Display;

use crate::error::Error;
use crate::journal::Journal;
use crate::outcome::Outcome;

/// How much a line matters, in the journal's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Something is wrong and the pull goes on without us.
    Error = 3,
    /// Something was passed over.
    Warning = 4,
    /// A step.
    Info = 6,
}

/// Where a run is told about.
#[derive(Debug, Default)]
pub struct Report {
    journal: Option<Journal>,
    aloud: bool,
    about: RefCell<About>,
}

/// What a run is about, as far as it is known yet.
#[derive(Debug, Default)]
struct About {
    namespace: String,
    image: String,
}

impl Report {
    /// For the kubelet: steps and what is passed over go to the journal.
    pub(crate) fn new(journal: Option<Journal>) -> Self {
        Self { journal, ..Self::default() }
    }

    /// For a person: what is passed over goes to standard error.
    pub(crate) fn aloud() -> Self {
        Self { aloud: true, ..Self::default() }
    }

    /// From here on, lines carry the image.
    pub(crate) fn about_image(&self, image: &str) {
        image.clone_into(&mut self.about.borrow_mut().image);
    }

    /// From here on, lines carry the namespace.
    pub(crate) fn about_namespace(&self, namespace: &str) {
        namespace.clone_into(&mut self.about.borrow_mut().namespace);
    }

    /// A step.
    pub(crate) fn step(&self, message: impl Display) {
        self.send(Level::Info, message, None);
    }

    /// Something that was passed over.
    pub(crate) fn passed_over(&self, message: impl Display) {
        if self.aloud {
            eprintln!("passed over: {message}");
        }
        self.send(Level::Warning, message, None);
    }

    /// The end of a run that answered.
    pub(crate) fn close(&self, outcome: &Outcome) {
        let how = if outcome.provides() { "provided" } else { "nothing" };
        self.send(Level::Info, outcome, Some((how, outcome.reason())));
        eprintln!("{outcome}");
    }

    /// The end of a run that did not; the caller prints the error.
    pub(crate) fn failed(&self, error: &Error) {
        let message = format_args!("Failed to run credential provider: {error}");
        self.send(Level::Error, message, Some(("failed", error.reason())));
    }

    /// `end` is how the run ended and why, on its last line. Nothing is put into words that nobody reads.
    fn send(&self, level: Level, message: impl Display, end: Option<(&str, &str)>) {
        let Some(journal) = &self.journal else { return };
        let about = self.about.borrow();
        let (message, priority) = (message.to_string(), (level as u8).to_string());
        let fields = [
            ("MESSAGE", Some(message.as_str())),
            ("PRIORITY", Some(priority.as_str())),
            ("SYSLOG_IDENTIFIER", Some("crio-credential-provider")),
            ("PULLWRIGHT_NAMESPACE", Some(about.namespace.as_str())),
            ("PULLWRIGHT_IMAGE", Some(about.image.as_str())),
            ("PULLWRIGHT_OUTCOME", end.map(|(outcome, _)| outcome)),
            ("PULLWRIGHT_REASON", end.map(|(_, reason)| reason)),
        ];
        let known = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)));
        journal.send(known);
    }
}
