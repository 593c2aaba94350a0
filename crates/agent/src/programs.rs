//! The programs that the agent brings along in its image, for the node to run.

use std::io;
use std::path::{Path, PathBuf};

use pullwright_api::NodeRuntime;

use crate::layout;

/// The programs, as files have them.
#[derive(Default)]
pub struct Programs {
    /// `crio-credential-provider`
    pub plugin: Vec<u8>,
    /// `pullwright-images`
    pub images: Vec<u8>,
}

impl Programs {
    /// Reads those that a node with this runtime needs.
    ///
    /// # Errors
    /// If one is missing, with its path.
    pub fn read(folder: &Path, runtime: NodeRuntime) -> Result<Self, (PathBuf, io::Error)> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|error| (path, error))
        };
        let images = if runtime == NodeRuntime::Crio { Vec::new() } else { read(layout::IMAGES)? };
        Ok(Self { plugin: read(layout::PLUGIN)?, images })
    }
}
