//! The files that a node has today, before and after they are parsed.

use std::fmt;
use std::path::{Path, PathBuf};

use pullwright_documents::Unreadable;
use pullwright_engine::registries::{ConfError, RegistriesConf};
use pullwright_findings::Finding;

use crate::{FileChange, NodeFile};

/// One file of a node, as a caller read it.
#[derive(Clone, PartialEq, Eq)]
pub struct CurrentFile {
    /// Its path on the node.
    pub path: PathBuf,
    /// Its text; `None` if there is no such file. For containerd, a registry's folder counts even without a file in it.
    pub text: Option<String>,
}

/// Shows no text: k3s keeps passwords in its file.
impl fmt::Debug for CurrentFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The files of a runtime on a node, read by its [`Layout`](crate::Layout).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CurrentFiles {
    /// The files, in the order in which the runtime reads them.
    pub files: Vec<CurrentFile>,
    /// The main `registries.conf`, if it is not at one of the usual paths.
    pub main: Option<PathBuf>,
}

impl CurrentFiles {
    /// The text of a file, if there is such a file.
    #[must_use]
    pub fn text(&self, path: &Path) -> Option<&str> {
        self.files.iter().find(|file| file.path == path)?.text.as_deref()
    }
}

/// Why a file cannot be used. The runtime refuses it too. The error never quotes more of the text than its cause does.
#[derive(Debug, thiserror::Error)]
pub enum NodeFileError {
    /// A file of `registries.conf`'s format is refused.
    #[error("{path:?}: {source}")]
    RegistriesConf {
        /// The file's path on the node.
        path: PathBuf,
        /// Why.
        source: Box<ConfError>,
    },
    /// The text is not of the file's format.
    #[error("{path:?}: {}", why.message)]
    Syntax {
        /// The file's path on the node.
        path: PathBuf,
        /// Why, and where reading stopped.
        why: Unreadable,
    },
    /// The runtime does not accept the file's content.
    #[error("{path:?}: {}", finding.message)]
    Refused {
        /// The file's path on the node.
        path: PathBuf,
        /// Why, where, and what to do.
        finding: Box<Finding>,
    },
}

impl NodeFileError {
    /// The path of the file on the node.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::RegistriesConf { path, .. } | Self::Syntax { path, .. } | Self::Refused { path, .. } => {
                path
            }
        }
    }
}

/// The parsed files of a runtime on one node.
pub trait RuntimeState {
    /// The node's own main `registries.conf`, whose search registries stay when mirror sets replace the rest. `None` for
    /// runtimes that do not read that file.
    fn template(&self) -> Option<&RegistriesConf> {
        None
    }

    /// What changes when rendered files replace those of the node. Files without a change are not listed.
    ///
    /// # Errors
    /// If a rendered file cannot be parsed, which no [`Rendering`](crate::Rendering) of this crate causes.
    fn changes(&self, files: &[NodeFile]) -> Result<Vec<FileChange>, NodeFileError>;
}
