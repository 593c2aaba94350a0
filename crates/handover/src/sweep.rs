//! Removes the files that no pull came for.

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

/// How soon to try again where a plugin is at work.
const BUSY: Duration = Duration::from_secs(1);
/// How soon to try again what could not be removed.
const FAILED: Duration = Duration::from_secs(10);

/// The folders within, and what their files are by name. `in-use/` is the last, for files move from the others to there: none
/// is overlooked.
const WITHIN: [(Within, StateOf); 2] = [(Within::Tickets, of_tickets), (Within::InUse, of_in_use)];

/// A file that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Where it was.
    pub path: PathBuf,
    /// What it was.
    pub kind: FileState,
    /// How long it had stood there.
    pub stood: Duration,
}

/// What a sweep did.
#[derive(Debug, Default)]
pub struct Swept {
    /// What is gone.
    pub removed: Vec<Removed>,
    /// What should be gone and is not.
    pub failed: Vec<SweepError>,
    /// In how long something else will have stood too long; `None` if nothing of ours is left.
    pub next: Option<Duration>,
}

/// Why something was not swept.
#[derive(Debug, Error)]
pub enum SweepError {
    /// A folder cannot be listed.
    #[error("cannot list {path:?}: {source}")]
    List {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// `in-use/` or `tickets/` is not a folder of ours.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file cannot be removed.
    #[error("cannot remove {path:?}: {source}")]
    Remove {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A lock cannot be had.
    #[error(transparent)]
    Lock(#[from] LockError),
}

impl Handover {
    /// Removes all that has stood too long at `now`. Files that are not ours by name, kind and owner stay.
    ///
    /// # Errors
    /// A [`SweepError`] if the folder cannot be looked through. That one file cannot be removed is in
    /// [`Swept::failed`], and the others are removed all the same.
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
                // What is wrong there is no reason to leave credentials elsewhere.
                Err(error) => swept.failed.push(error.into()),
            }
        }
        Ok(swept)
    }

    /// Whether nothing of ours is left.
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
                // Nobody ever gives these names again: what was found is what is removed.
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

/// Removes an unclaimed file under the lock of its name: without it, a plugin could put a fresh file in its place
/// between the look and the removal, and the fresh one would go. `false` if a plugin is at work on that name.
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
