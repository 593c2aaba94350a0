//! The plugin's side of the contract: an auth folder with its locks and time limits.

use std::path::Path;
use std::time::Duration;

use crate::due::SweepBounds;
use crate::folder::{AuthFolder, FolderError};
use crate::lock::Locks;

/// How long files may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// A file that has been there this long without being claimed is replaced by the next one for the same name.
    ///
    /// A runtime takes a file that it wants within tens of milliseconds. Unclaimed files are common: the kubelet may
    /// run the plugin and then not pull, because of its own rate limit, an image back-off or a deleted Pod. Each such
    /// file holds up the queue for this long, so the default is short: 1 s.
    pub stood: Duration,
    /// When leftover files are removed.
    pub sweep: SweepBounds,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { stood: Duration::from_secs(1), sweep: SweepBounds::default() }
    }
}

/// An auth folder as a plugin uses it: [`put`](Handover::put), [`sweep_once`](Handover::sweep_once), and
/// [`run_sweeper`](Handover::run_sweeper) in the process that `put` starts.
#[derive(Debug)]
pub struct Handover {
    pub(crate) folder: AuthFolder,
    pub(crate) locks: Locks,
    pub(crate) bounds: Bounds,
}

impl Handover {
    /// Opens the auth folder and its lock folder, creating each (0700) if it is missing.
    ///
    /// # Errors
    /// A [`FolderError`] if one of them is not a folder, is not ours, or can be written by others.
    pub fn open(auth_folder: &Path, lock_folder: &Path, bounds: Bounds) -> Result<Self, FolderError> {
        let folder = AuthFolder::open(auth_folder)?;
        let locks = Locks::open(lock_folder, &folder)?;
        Ok(Self { folder, locks, bounds })
    }

    /// The auth folder.
    #[must_use]
    pub fn folder(&self) -> &AuthFolder {
        &self.folder
    }
}
