//! A path on the node, and a file that the node should have there.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where the agent keeps its state on the node. It never writes a file of a configuration there.
pub const STATE: &str = "/var/lib/pullwright";

/// How long a path may be, as in the kernel.
const LONGEST: usize = 4095;

/// The permissions that a file of ours can have. A set-user-ID bit is never configuration.
const PERMISSIONS: u32 = 0o777;

/// The absolute path of a file on the node, without `.` and `..`, outside the agent's own state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodePath(String);

/// Why a file cannot be part of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidFile {
    /// The path could mean several files, or none.
    #[error("{path:?} is not the absolute path of a file: write it from / on, without `.`, `..` and `//`")]
    Path {
        /// The path.
        path: String,
    },
    /// The agent's own state is there.
    #[error("{path:?} is below {STATE}, where the agent keeps its own state: choose another path")]
    State {
        /// The path.
        path: String,
    },
    /// The permissions are more than reading, writing and executing.
    #[error("mode {mode:o} of {path:?} is not between 0 and 0777")]
    Mode {
        /// The path.
        path: String,
        /// The mode.
        mode: u32,
    },
}

impl NodePath {
    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder and the name in it.
    pub(crate) fn split(&self) -> (&str, &str) {
        match self.0.rsplit_once('/') {
            Some(("", name)) => ("/", name),
            Some((folder, name)) => (folder, name),
            // A `NodePath` is absolute.
            None => ("/", &self.0),
        }
    }

    /// The folders above it, from the top, without the root.
    pub(crate) fn folders(&self) -> impl Iterator<Item = Self> {
        let ends = self.0.char_indices().filter(|(at, letter)| *at > 0 && *letter == '/');
        ends.map(|(at, _)| Self(self.0[..at].to_owned()))
    }
}

impl TryFrom<String> for NodePath {
    type Error = InvalidFile;

    fn try_from(path: String) -> Result<Self, InvalidFile> {
        let named = |part: &str| !matches!(part, "" | "." | "..");
        let whole = path.len() <= LONGEST && !path.contains('\0');
        match path.strip_prefix('/') {
            Some(parts) if whole && parts.split('/').all(named) => {}
            _ => return Err(InvalidFile::Path { path }),
        }
        if Path::new(&path).starts_with(STATE) {
            return Err(InvalidFile::State { path });
        }
        Ok(Self(path))
    }
}

impl From<NodePath> for String {
    fn from(path: NodePath) -> Self {
        path.0
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A file that the node should have. It belongs to the user that the agent runs as.
#[derive(Clone, PartialEq, Eq)]
pub struct WantedFile {
    path: NodePath,
    mode: u32,
    content: Vec<u8>,
}

impl WantedFile {
    /// A file with this content, text or not.
    ///
    /// # Errors
    /// An [`InvalidFile`] if the path or the mode cannot be those of a configuration's file.
    pub fn new(path: &str, mode: u32, content: impl Into<Vec<u8>>) -> Result<Self, InvalidFile> {
        if mode > PERMISSIONS {
            return Err(InvalidFile::Mode { path: path.to_owned(), mode });
        }
        Ok(Self { path: NodePath::try_from(path.to_owned())?, mode, content: content.into() })
    }

    /// Where it belongs.
    #[must_use]
    pub fn path(&self) -> &NodePath {
        &self.path
    }

    pub(crate) fn mode(&self) -> u32 {
        self.mode
    }

    pub(crate) fn content(&self) -> &[u8] {
        &self.content
    }
}

/// Without the content, which may be long or not for everybody.
impl fmt::Debug for WantedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:04o}, {} bytes)", self.path, self.mode, self.content.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Result<NodePath, InvalidFile> {
        NodePath::try_from(text.to_owned())
    }

    #[test]
    fn a_path_means_one_file() {
        for nonsense in ["", "/", "etc/a", "/etc/", "/etc//a", "/etc/./a", "/etc/../a", "/a\0b"] {
            assert!(matches!(path(nonsense), Err(InvalidFile::Path { .. })), "{nonsense:?}");
        }
        assert_eq!(path("/etc/..a/b.").unwrap().as_str(), "/etc/..a/b.");
    }

    #[test]
    fn the_agents_state_is_out_of_bounds() {
        assert!(matches!(path("/var/lib/pullwright"), Err(InvalidFile::State { .. })));
        assert!(matches!(path("/var/lib/pullwright/journal.json"), Err(InvalidFile::State { .. })));
        assert!(path("/var/lib/pullwright2/a").is_ok());
    }

    #[test]
    fn a_file_of_ours_has_no_special_bits() {
        assert!(WantedFile::new("/a", 0o4755, "").is_err());
        assert!(WantedFile::new("/a", 0o755, "").is_ok());
    }

    #[test]
    fn the_folders_above_from_the_top() {
        let file = path("/etc/crio/a").unwrap();
        let above: Vec<_> = file.folders().collect();
        assert_eq!(above, [path("/etc").unwrap(), path("/etc/crio").unwrap()]);
        assert_eq!(path("/a").unwrap().folders().count(), 0);
        assert_eq!((file.split(), path("/a").unwrap().split()), (("/etc/crio", "a"), ("/", "a")));
    }
}
