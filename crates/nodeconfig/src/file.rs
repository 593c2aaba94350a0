//! A file on a node.

use std::path::PathBuf;

use pullwright_engine::containerd::HEADER;

/// The mode of configuration that services of other users read. Nothing that is rendered is secret.
pub const CONFIG_MODE: u32 = 0o644;

/// A file as it should be on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFile {
    /// Its absolute path on the node.
    pub path: PathBuf,
    /// Its permissions.
    pub mode: u32,
    /// Its whole text.
    pub content: String,
}

impl NodeFile {
    /// A configuration file that everybody may read.
    pub fn config(path: impl Into<PathBuf>, content: String) -> Self {
        Self { path: path.into(), mode: CONFIG_MODE, content }
    }
}

/// Whether a text was rendered for containerd or k3s by this program, so that it may be replaced. Files for CRI-O have the
/// format of the Machine Config Operator and carry no mark.
#[must_use]
pub fn is_ours(text: &str) -> bool {
    text.lines().next() == Some(HEADER)
}
