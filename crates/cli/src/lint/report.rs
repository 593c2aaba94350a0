//! The findings of each file, as text for people and as data for programs.

use std::io::{self, Write};
use std::path::PathBuf;

use pullwright_findings::Severity;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::FileKind;
use crate::diagnostic::{Message, MessageData};
use crate::style::{BAD, FAINT, GOOD, WARNING, paint, plain};

/// The findings of all files.
pub(super) struct LintReport {
    pub(super) files: Vec<Checked>,
}

/// A file with its kind and its findings.
pub(super) struct Checked {
    pub(super) path: PathBuf,
    pub(super) kind: FileKind,
    pub(super) messages: Vec<Message>,
}

impl Checked {
    /// The findings of a file, in the order in which a person reads it.
    pub(super) fn new(path: PathBuf, kind: FileKind, mut messages: Vec<Message>) -> Self {
        messages.sort_by_key(Message::line_and_column);
        Self { path, kind, messages }
    }

    pub(super) fn has_errors(&self) -> bool {
        self.messages.iter().any(|message| message.severity == Severity::Error)
    }
}

impl LintReport {
    pub(super) fn is_clean(&self) -> bool {
        self.files.iter().all(|file| file.messages.is_empty())
    }

    fn count(&self, severity: Severity) -> usize {
        self.files
            .iter()
            .flat_map(|file| &file.messages)
            .filter(|message| message.severity == severity)
            .count()
    }

    pub(super) fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        for message in self.files.iter().flat_map(|file| &file.messages) {
            message.write(out)?;
            writeln!(out)?;
        }
        for file in &self.files {
            let mark = match (file.messages.is_empty(), file.has_errors()) {
                (true, _) => paint(GOOD, "✓"),
                (false, false) => paint(WARNING, "!"),
                (false, true) => paint(BAD, "✗"),
            };
            let path = plain(&file.path.display().to_string());
            writeln!(out, "{mark} {path} {}", paint(FAINT, format!("({})", file.kind.noun())))?;
        }
        let counted =
            |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        writeln!(
            out,
            "{} checked: {}, {}",
            counted(self.files.len(), "file"),
            counted(self.count(Severity::Error), "error"),
            counted(self.count(Severity::Warning), "warning")
        )
    }
}

impl Serialize for LintReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut report = serializer.serialize_struct("LintReport", 3)?;
        report.serialize_field("errors", &self.count(Severity::Error))?;
        report.serialize_field("warnings", &self.count(Severity::Warning))?;
        report.serialize_field("files", &self.files)?;
        report.end()
    }
}

impl Serialize for Checked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut file = serializer.serialize_struct("Checked", 3)?;
        file.serialize_field("path", &self.path.display().to_string())?;
        file.serialize_field("kind", &self.kind)?;
        file.serialize_field("findings", &self.messages.iter().map(MessageData::from).collect::<Vec<_>>())?;
        file.end()
    }
}
