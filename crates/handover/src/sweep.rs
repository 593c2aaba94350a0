//! Removes the files that no pull has claimed.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use rustix::io::Errno;
use rustix::process::geteuid;
use thiserror::Error;

use crate::age::{age, standing_since};
use crate::due::{FileState, FoundFile, StateOf, SweepPlan, of_auth_folder, of_in_use, of_tickets, plan};
use crate::folder::{FileKind, FolderError, PrivateFolder};
use crate::handover::Handover;
use crate::lock::{LockError, Present};
use crate::name::AuthFileName;
use crate::within::Within;

/// When to try again if a plugin is working on the name.
const BUSY: Duration = Duration::from_secs(1);
/// When to try again if a removal failed.
const FAILED: Duration = Duration::from_secs(10);

/// The subfolders, each with the function that tells a file's state from its name. `in-use/` comes last because files
/// move there from the other folders, so the sweep misses none.
const WITHIN: [(Within, StateOf); 2] = [(Within::Tickets, of_tickets), (Within::InUse, of_in_use)];

/// A file that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Its path.
    pub path: PathBuf,
    /// Its state when it was removed.
    pub kind: FileState,
    /// How long it had been there.
    pub stood: Duration,
}

/// The result of a sweep.
#[derive(Debug, Default)]
pub struct Swept {
    /// The files that were removed.
    pub removed: Vec<Removed>,
    /// The files and folders that could not be swept.
    pub failed: Vec<SweepError>,
    /// The time until the next file is due; `None` if none of our files is left.
    pub next: Option<Duration>,
}

/// Why a sweep failed.
#[derive(Debug, Error)]
pub enum SweepError {
    /// A folder cannot be listed.
    #[error("cannot list {path:?}: {source}")]
    List {
        /// The folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// `in-use/` or `tickets/` is not a folder that we can trust.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file cannot be removed.
    #[error("cannot remove {path:?}: {source}")]
    Remove {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A lock could not be taken.
    #[error(transparent)]
    Lock(#[from] LockError),
}

impl Handover {
    /// Removes every file that is past its bound at `now`. Keeps files whose name, kind or owner is not ours.
    ///
    /// # Errors
    /// A [`SweepError`] if the folder cannot be listed. A file that cannot be removed is reported in [`Swept::failed`]
    /// and does not keep the others from being removed.
    pub fn sweep_once(&self, now: SystemTime) -> Result<Swept, SweepError> {
        let present = self.locks.present(Instant::now() + Self::PUT_TIME)?;
        self.sweep(&present, now)
    }

    pub(crate) fn sweep(&self, present: &Present<'_>, now: SystemTime) -> Result<Swept, SweepError> {
        let mut swept = Swept::default();
        let folder = self.folder.entries();
        self.sweep_folder(present, folder, of_auth_folder, now, &mut swept)?;
        for (within, kind_of) in WITHIN {
            match within.open(&self.folder) {
                Ok(None) => {}
                Ok(Some(folder)) => self.sweep_folder(present, &folder, kind_of, now, &mut swept)?,
                // A problem in one folder is no reason to leave credentials in another.
                Err(error) => swept.failed.push(error.into()),
            }
        }
        Ok(swept)
    }

    /// Whether none of our files is left.
    pub(crate) fn is_clean(&self) -> Result<bool, SweepError> {
        let mut clean = list(self.folder.entries(), of_auth_folder)?.is_empty();
        for (within, kind_of) in WITHIN {
            if let Some(folder) = within.open(&self.folder)? {
                clean &= list(&folder, kind_of)?.is_empty();
            }
        }
        Ok(clean)
    }

    fn sweep_folder(
        &self,
        present: &Present<'_>,
        folder: &PrivateFolder,
        kind_of: StateOf,
        now: SystemTime,
        swept: &mut Swept,
    ) -> Result<(), SweepError> {
        let SweepPlan { remove, mut next } = plan(list(folder, kind_of)?, self.bounds.sweep, now);
        for file in remove {
            let removed = match AuthFileName::parse(&file.name) {
                Some(name) => remove_unclaimed(present, folder, &name, &file),
                // These names are never used twice, so this removes the file that was found.
                None => remove_found(folder, &file).map(|()| true),
            };
            match removed {
                Ok(true) => swept.removed.push(Removed {
                    path: folder.path_of(&file.name),
                    kind: file.kind,
                    stood: age(file.since, now),
                }),
                Ok(false) => next = sooner(next, Some(BUSY)),
                Err(error) => {
                    swept.failed.push(error);
                    next = sooner(next, Some(FAILED));
                }
            }
        }
        swept.next = sooner(swept.next, next);
        Ok(())
    }
}

/// Removes an unclaimed file while holding its name lock. Without the lock, a plugin could put a fresh file in its
/// place after the check, and we would remove that one. Returns `false` if a plugin is working on the name.
fn remove_unclaimed(
    present: &Present<'_>,
    folder: &PrivateFolder,
    name: &AuthFileName,
    file: &FoundFile,
) -> Result<bool, SweepError> {
    let Some(_lock) = present.try_lock(name)? else {
        return Ok(false);
    };
    match folder.stat(&file.name) {
        Ok(Some(stat)) if standing_since(&stat) == file.since => remove_found(folder, file).map(|()| true),
        Ok(Some(_)) => Ok(false),
        Ok(None) => Ok(true),
        Err(errno) => Err(not_removed(folder, file, errno)),
    }
}

fn remove_found(folder: &PrivateFolder, file: &FoundFile) -> Result<(), SweepError> {
    folder.remove(&file.name).map_err(|errno| not_removed(folder, file, errno))
}

fn not_removed(folder: &PrivateFolder, file: &FoundFile, errno: Errno) -> SweepError {
    SweepError::Remove { path: folder.path_of(&file.name), source: errno.into() }
}

fn sooner(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}

fn list(folder: &PrivateFolder, kind_of: StateOf) -> Result<Vec<FoundFile>, SweepError> {
    let failed = |errno: Errno| SweepError::List { path: folder.path().to_owned(), source: errno.into() };
    let ours = geteuid().as_raw();
    let mut found = Vec::new();
    for name in folder.names().map_err(failed)? {
        let Some(kind) = kind_of(&name) else { continue };
        let Some(stat) = folder.stat(&name).map_err(failed)? else {
            continue;
        };
        if FileKind::of(&stat).is_file() && stat.st_uid == ours {
            found.push(FoundFile { kind, name, since: standing_since(&stat) });
        }
    }
    Ok(found)
}
