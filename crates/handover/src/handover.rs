//! The plugin's side of the contract: an auth folder, the locks of it, and the bounds that hold for it.

use std::path::Path;
use std::time::Duration;

use crate::due::SweepBounds;
use crate::folder::{AuthFolder, FolderError};
use crate::lock::Locks;

/// How long things may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// A file that has stood this long without being taken is replaced by the next for the same name.
    ///
    /// A runtime takes a wanted file within tens of milliseconds, and unclaimed files are ordinary: the kubelet
    /// runs the plugin and then may not pull (its own rate limit, image back-off, a Pod deleted). Each such file
    /// holds up the queue for this long, so it is short: 1 s.
    pub stood: Duration,
    /// When what is left behind goes.
    pub sweep: SweepBounds,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { stood: Duration::from_secs(1), sweep: SweepBounds::default() }
    }
}

/// An auth folder as a plugin works with it: [`put`](Handover::put), [`sweep_once`](Handover::sweep_once), and
/// [`run_sweeper`](Handover::run_sweeper) in the process that `put` starts.
#[derive(Debug)]
pub struct Handover {
    pub(crate) folder: AuthFolder,
    pub(crate) locks: Locks,
    pub(crate) bounds: Bounds,
}

impl Handover {
    /// Opens the auth folder and the folder for its locks, each made (0700) if missing.
    ///
    /// # Errors
    /// A [`FolderError`] if one of them is not a folder, not ours, or open to others' writing.
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
