//! What the agent did to the node's files and what it is about to do, as it is on disk.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::file::{Digest, FileState};
use super::path::NodePath;
use super::plan::{Change, Managed};

/// The format that this program reads and writes.
const FORMAT: u64 = 1;

/// The journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journal {
    pub(crate) format: u64,
    /// The configuration that was committed last; none before the first and after the originals were restored.
    pub(crate) configuration: Option<String>,
    /// Its files, in its order.
    pub(crate) managed: Vec<Managed>,
    /// Folders that we made, or were about to make, from the top.
    pub(crate) folders: Vec<NodePath>,
    /// A switch that has begun and has not ended.
    pub(crate) switch: Option<Switch>,
}

/// A switch from one set of files to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    /// In the names of its temporary files.
    pub(crate) id: String,
    pub(crate) phase: Phase,
    /// The configuration that it leads to; none if it restores the originals.
    pub(crate) configuration: Option<String>,
    pub(crate) changes: Vec<Change>,
    /// The folders that it makes, from the top.
    pub(crate) folders: Vec<NodePath>,
    /// What is managed once it is committed.
    pub(crate) managed: Vec<Managed>,
    /// Once it is undone: files that are not back, because others changed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) kept: Vec<NodePath>,
}

/// How far a switch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    /// Every content that it needs is kept. Each file is old or new.
    Intent,
    /// Each file is new.
    Applied,
    /// Each file is old or new, and becomes old.
    Undoing,
    /// Each file is old, and services may not have noticed.
    Undone,
}

/// The one field that every format has.
#[derive(Deserialize)]
struct Header {
    format: u64,
}

impl Journal {
    /// A node that we never touched.
    pub(crate) fn new() -> Self {
        Self { format: FORMAT, configuration: None, managed: vec![], folders: vec![], switch: None }
    }

    pub(crate) fn parse(text: &[u8]) -> Result<Self, Error> {
        let unreadable = |source| Error::Journal { source };
        let Header { format } = serde_json::from_slice(text).map_err(unreadable)?;
        if format != FORMAT {
            return Err(Error::Format { found: format, known: FORMAT });
        }
        serde_json::from_slice(text).map_err(unreadable)
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>, Error> {
        serde_json::to_vec(self).map_err(|source| Error::Journal { source })
    }

    /// The contents that files had before us, which nobody else has.
    pub(crate) fn originals(&self) -> BTreeSet<&Digest> {
        let next = self.switch.iter().flat_map(|switch| &switch.managed);
        self.managed.iter().chain(next).filter_map(|file| file.original.digest()).collect()
    }

    /// The contents that the current switch needs.
    pub(crate) fn contents(&self) -> BTreeSet<&Digest> {
        let changes = self.switch.iter().flat_map(|switch| &switch.changes);
        changes.flat_map(|change| [&change.before, &change.after]).filter_map(FileState::digest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_it_writes() {
        let path = |text: &str| NodePath::try_from(text.to_owned()).unwrap();
        let change = Change { path: path("/a"), before: FileState::Absent, after: FileState::Absent };
        let managed = Managed { path: path("/b"), original: FileState::Absent, written: FileState::Absent };
        let switch = Switch {
            id: "1".to_owned(),
            phase: Phase::Undone,
            configuration: Some("crio-1".to_owned()),
            changes: vec![change],
            folders: vec![path("/c")],
            managed: vec![managed.clone()],
            kept: vec![path("/a")],
        };
        let journal = Journal {
            managed: vec![managed],
            folders: vec![path("/c")],
            switch: Some(switch),
            ..Journal::new()
        };
        assert_eq!(Journal::parse(&journal.to_json().unwrap()).unwrap(), journal);
    }

    #[test]
    fn another_format_is_named_and_nothing_else_is_read() {
        let error = Journal::parse(br#"{"format": 2, "surprise": true}"#).unwrap_err();
        assert!(matches!(error, Error::Format { found: 2, known: 1 }), "{error}");
        assert!(matches!(Journal::parse(b"{}"), Err(Error::Journal { .. })));
        assert!(matches!(Journal::parse(b""), Err(Error::Journal { .. })));
    }
}
