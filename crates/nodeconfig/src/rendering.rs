//! Rendered files of a runtime.

use pullwright_findings::Finding;

use crate::NodeFile;

/// The files of a runtime, and which parts of the configuration they cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendering {
    /// The files, by path.
    pub files: Vec<NodeFile>,
    /// What the runtime does not support, and what it does instead. Places are those of the merged `registries.conf`.
    pub unsupported: Vec<Finding>,
}
