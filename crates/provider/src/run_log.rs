//! The log of a run: steps go to the journal if there is one, and one line goes to standard error.
//!
//! The kubelet drops standard error when the plugin succeeds, and appends it to its own error when the plugin fails.
//! The messages are those of the Go plugin, because tests and people look for them.

use std::cell::RefCell;
use std::fmt::Display;

use pullwright_engine::kubelet::PLUGIN;

use crate::error::Error;
use crate::journal::Journal;
use crate::outcome::PluginOutcome;

/// The severity of a line, as the journal's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Something is wrong, and the pull goes on without the plugin.
    Error = 3,
    /// Something was skipped.
    Warning = 4,
    /// A step.
    Info = 6,
}

/// Receives the progress and the errors of a run.
#[derive(Debug, Default)]
pub struct RunLog {
    journal: Option<Journal>,
    aloud: bool,
    about: RefCell<About>,
}

/// The namespace and the image of a run, as far as they are known.
#[derive(Debug, Default)]
struct About {
    namespace: String,
    image: String,
}

impl RunLog {
    /// Creates the log of a run for the kubelet: steps and warnings go to the journal.
    pub(crate) fn new(journal: Option<Journal>) -> Self {
        Self { journal, ..Self::default() }
    }

    /// Creates the log of a run for a person: warnings go to standard error.
    pub(crate) fn aloud() -> Self {
        Self { aloud: true, ..Self::default() }
    }

    /// Adds the image to the lines that follow.
    pub(crate) fn about_image(&self, image: &str) {
        image.clone_into(&mut self.about.borrow_mut().image);
    }

    /// Adds the namespace to the lines that follow.
    pub(crate) fn about_namespace(&self, namespace: &str) {
        namespace.clone_into(&mut self.about.borrow_mut().namespace);
    }

    /// Logs a step.
    pub(crate) fn step(&self, message: impl Display) {
        self.send(LogLevel::Info, message, None);
    }

    /// Logs something that was skipped.
    pub(crate) fn passed_over(&self, message: impl Display) {
        if self.aloud {
            eprintln!("passed over: {message}");
        }
        self.send(LogLevel::Warning, message, None);
    }

    /// Logs the end of a run that answered.
    pub(crate) fn close(&self, outcome: &PluginOutcome) {
        let how = if outcome.provides() { "provided" } else { "nothing" };
        self.send(LogLevel::Info, outcome, Some((how, outcome.name())));
        eprintln!("{outcome}");
    }

    /// Logs the end of a run that failed; the caller prints the error.
    pub(crate) fn failed(&self, error: &Error) {
        let message = format_args!("Failed to run credential provider: {error}");
        self.send(LogLevel::Error, message, Some(("failed", error.reason().name())));
    }

    /// Sends a line to the journal. `end` is how the run ended and why, for its last line. Formats nothing if there is
    /// no journal.
    fn send(&self, level: LogLevel, message: impl Display, end: Option<(&str, &str)>) {
        let Some(journal) = &self.journal else { return };
        let about = self.about.borrow();
        let (message, priority) = (message.to_string(), (level as u8).to_string());
        let fields = [
            ("MESSAGE", Some(message.as_str())),
            ("PRIORITY", Some(priority.as_str())),
            ("SYSLOG_IDENTIFIER", Some(PLUGIN)),
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
