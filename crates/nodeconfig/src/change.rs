//! What changes in a node's files.

use std::path::PathBuf;

use pullwright_engine::registries::{Change, Notice};
use serde::Serialize;

use crate::EndpointsChange;

/// How one file of a node changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// The file's path on the node.
    pub path: PathBuf,
    /// Whether somebody else wrote the file that is there now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// The changes in it; never empty.
    pub changes: Vec<ConfigChange>,
}

/// One change, in the terms of the runtime that reads the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ConfigChange {
    /// An entry or a setting of `registries.conf`.
    Registry(RegistryChange),
    /// Which endpoints containerd asks for the images of a host.
    Endpoints(EndpointsChange),
}

/// A change in `registries.conf`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegistryChange {
    /// What changes.
    #[serde(flatten)]
    pub change: Change,
    /// A drop-in on the node with an entry of the same prefix. It wins, so the change has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overridden_by: Option<PathBuf>,
}

impl ConfigChange {
    /// Who could notice the change.
    #[must_use]
    pub fn notice(&self) -> Notice {
        match self {
            Self::Registry(change) => change.change.notice,
            Self::Endpoints(change) => change.notice,
        }
    }
}
