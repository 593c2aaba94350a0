//! The result for each file, for people and for programs.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::proof::{Changed, Proof};
use super::yaml;
use crate::diagnostic::{Message, MessageData};
use crate::style::plain;

/// The answer.
pub(super) struct MigrationReport {
    pub(super) files: Vec<MigratedFile>,
    pub(super) proof: Result<Proof, Changed>,
}

/// The result for one file.
pub(super) struct MigratedFile {
    pub(super) from: PathBuf,
    /// The names of its objects.
    pub(super) names: Vec<String>,
    pub(super) state: MigrationState,
    pub(super) messages: Vec<Message>,
}

/// Where the objects are now.
pub(super) enum MigrationState {
    /// In a new file.
    Written { path: PathBuf },
    /// In a file that already existed.
    AlreadyThere { path: PathBuf },
    /// Only in the answer.
    Printed { text: String },
    /// Nowhere; the messages or the proof say why.
    Failed,
}

impl MigrationState {
    fn as_str(&self) -> &'static str {
        match self {
            Self::Written { .. } => "written",
            Self::AlreadyThere { .. } => "already-there",
            Self::Printed { .. } => "printed",
            Self::Failed => "failed",
        }
    }

    fn path(&self) -> Option<String> {
        match self {
            Self::Written { path } | Self::AlreadyThere { path } => Some(path.display().to_string()),
            Self::Printed { .. } | Self::Failed => None,
        }
    }
}

impl MigrationReport {
    pub(super) fn is_good(&self) -> bool {
        self.proof.is_ok() && self.files.iter().all(|file| !matches!(file.state, MigrationState::Failed))
    }

    /// Why files were not migrated.
    pub(super) fn messages(&self, out: &mut dyn Write) -> io::Result<()> {
        self.files.iter().flat_map(|file| &file.messages).try_for_each(|message| message.write(out))?;
        if let Err(changed) = &self.proof {
            let message = Message::error(changed.to_string());
            message.with_help("nothing is written; migrate these objects by hand").write(out)?;
        }
        Ok(())
    }

    pub(super) fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        for file in &self.files {
            match &file.state {
                MigrationState::Written { path } => {
                    writeln!(out, "wrote ImageDigestMirrorSet to {}", plain(&path.display().to_string()))?;
                }
                MigrationState::AlreadyThere { path } => {
                    writeln!(
                        out,
                        "ImageDigestMirrorSet is already in {}",
                        plain(&path.display().to_string())
                    )?;
                }
                MigrationState::Printed { .. } | MigrationState::Failed => {}
            }
        }
        self.proof(out)
    }

    /// The proof that no node's registries.conf changes.
    pub(super) fn proof(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.proof {
            Ok(Proof { objects: 0 }) | Err(_) => Ok(()),
            Ok(Proof { objects: 1 }) => writeln!(out, "registries.conf unchanged: proved for 1 object"),
            Ok(Proof { objects }) => writeln!(out, "registries.conf unchanged: proved for {objects} objects"),
        }
    }

    /// The objects themselves.
    pub(super) fn objects(&self, out: &mut dyn Write) -> io::Result<()> {
        let texts = self.files.iter().filter_map(|file| match &file.state {
            MigrationState::Printed { text } => Some(text.as_str()),
            MigrationState::Written { .. } | MigrationState::AlreadyThere { .. } | MigrationState::Failed => {
                None
            }
        });
        out.write_all(texts.collect::<Vec<_>>().join(yaml::SEPARATOR).as_bytes())
    }
}

impl Serialize for MigrationReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let changed = self.proof.as_ref().err().map(ToString::to_string);
        let mut report = serializer.serialize_struct("MigrationReport", 3)?;
        report.serialize_field("registriesConfUnchanged", &changed.is_none())?;
        match changed {
            Some(change) => report.serialize_field("registriesConfChange", &change)?,
            None => report.skip_field("registriesConfChange")?,
        }
        report.serialize_field("files", &self.files)?;
        report.end()
    }
}

impl Serialize for MigratedFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut file = serializer.serialize_struct("MigratedFile", 5)?;
        file.serialize_field("from", &self.from.display().to_string())?;
        match self.state.path() {
            Some(path) => file.serialize_field("to", &path)?,
            None => file.skip_field("to")?,
        }
        file.serialize_field("state", self.state.as_str())?;
        file.serialize_field("objects", &self.names)?;
        file.serialize_field("findings", &self.messages.iter().map(MessageData::from).collect::<Vec<_>>())?;
        file.end()
    }
}
