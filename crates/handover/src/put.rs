//! Puts a file where a runtime will take it, without removing one that another pull still needs.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{RenameFlags, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;
use thiserror::Error;

use crate::age::{age, standing_since};
use crate::folder::{FileKind, PrivateFolder};
use crate::handover::Handover;
use crate::lock::LockError;
use crate::name::AuthFileName;
use crate::sweep::{SweepError, Swept};
use crate::sweeper::{SweeperCommand, SweeperError};
use crate::temporary::Temporary;
use crate::watch::Watch;

/// Why a file was not put. Nothing of it is left in the folder.
#[derive(Debug, Error)]
pub enum PutError {
    /// A lock could not be taken, or the deadline passed before it was our turn.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The content could not be written, for example because the disk is full or the folder is read-only.
    #[error("cannot write the auth file in {folder:?}: {source}")]
    Write {
        /// The auth folder.
        folder: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The written file could not be renamed to its final name.
    #[error("cannot move {from:?} to {path:?}: {source}")]
    Move {
        /// The temporary file, which is removed.
        from: PathBuf,
        /// The auth file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// What is at the auth file's path could not be inspected.
    #[error("cannot look at {path:?}: {source}")]
    Look {
        /// The auth file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file of an earlier pull, which nobody claimed, could not be removed.
    #[error("cannot remove {path:?}, which no pull has taken: {source}")]
    Clear {
        /// The auth file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Something that no plugin writes is at the auth file's path.
    #[error("{path:?} is {found} of uid {owner}, not an auth file of ours: remove it")]
    NotOurs {
        /// The auth file's path.
        path: PathBuf,
        /// What was found there.
        found: FileKind,
        /// The user ID of its owner.
        owner: u32,
    },
    /// At the deadline, an earlier file was still waiting for its pull.
    #[error("the earlier {path:?} was still waiting for its pull at the deadline: the kubelet will retry")]
    Deadline {
        /// The auth file.
        path: PathBuf,
    },
}

/// What happened to the file of an earlier pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// There was none.
    None,
    /// It was claimed while we waited.
    Taken,
    /// Nobody claimed it in time, so it was removed or replaced.
    Replaced,
}

/// A file that has been put.
#[derive(Debug)]
pub struct Put {
    /// The path of the file until it is claimed.
    pub path: PathBuf,
    /// What happened to the earlier file.
    pub earlier: Earlier,
    /// How the cleanup went.
    pub tidying: Tidying,
}

/// The cleanup of files that others left. Its failure is no reason to fail a pull.
#[derive(Debug)]
pub struct Tidying {
    /// Whether a sweeper will remove the file if no pull claims it.
    pub sweeper: Result<(), SweeperError>,
    /// What was removed.
    pub swept: Result<Swept, SweepError>,
}

/// What to do with the path of a name.
enum Slot<'a> {
    /// Put this file there.
    Fill(Temporary<'a>),
    /// Leave nothing there.
    Clear,
}

impl Handover {
    /// How long a put may take by default: the kubelet kills a plugin after 60 s, and the plugin's earlier request for
    /// Secrets needs its share of that time.
    pub const PUT_TIME: Duration = Duration::from_secs(40);

    /// Puts `content` under `name`, so that this pull and every other pull of that name each find a file.
    ///
    /// Plugins that put the same name queue. Complete files are moved into place without replacing others; only a file
    /// older than [`Bounds::stood`](crate::Bounds::stood) is replaced. Other names do not wait.
    ///
    /// # Errors
    /// A [`PutError`]; then nothing of the new file is left in the folder, and the earlier file is unchanged.
    pub fn put(
        &self,
        name: &AuthFileName,
        content: &[u8],
        deadline: Instant,
        sweeper: &SweeperCommand,
    ) -> Result<Put, PutError> {
        let present = self.locks.present(deadline)?;
        // Before any credential is on disk: if we are killed after this, a sweeper is there to clean up.
        let sweeper = self.ensure_sweeper(&present, sweeper);
        let swept = self.sweep(&present, SystemTime::now());
        let _turn = present.lock(name, deadline)?;
        // Only once it is our turn: a queue of fifty must not leave fifty copies of a credential on disk.
        let temporary = Temporary::write(self.folder.entries(), content)
            .map_err(|source| PutError::Write { folder: self.folder.path().to_owned(), source })?;
        // Before the file is in place: if we are killed in between, there must be no file that is not recorded.
        self.earlier(&name.to_string())?;
        self.remember_handed_over(name)?;
        let earlier = self.settle(Slot::Fill(temporary), &name.to_string(), deadline)?;
        let path = self.folder.entries().path_of(&name.to_string());
        Ok(Put { path, earlier, tidying: Tidying { sweeper, swept } })
    }

    /// Waits until the file under `name` is claimed, and removes it if nobody claims it in time.
    ///
    /// A pull that has no credential of its own starts only after this, so it cannot take a file left for another pull.
    /// Meanwhile, plugins that put a file under the same name wait.
    ///
    /// # Errors
    /// A [`PutError`]; then the file may still be there.
    pub fn clear(&self, name: &AuthFileName, deadline: Instant) -> Result<Earlier, PutError> {
        let present = self.locks.present(deadline)?;
        let _turn = present.lock(name, deadline)?;
        self.settle(Slot::Clear, &name.to_string(), deadline)
    }

    /// Does what `slot` says for `name`, once the earlier file was claimed or has become too old. Requires the lock of
    /// `name`.
    fn settle(&self, mut slot: Slot<'_>, name: &str, deadline: Instant) -> Result<Earlier, PutError> {
        let folder = self.folder.entries();
        let path = folder.path_of(name);
        let mut watch = None;
        loop {
            match slot.settle_if_free(folder, name) {
                Ok(()) => {
                    return Ok(if watch.is_some() { Earlier::Taken } else { Earlier::None });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(slot.failed(path, errno)),
            }
            let Some(watch) = &watch else {
                // Try again: the file may have been claimed just before the watch began.
                watch = Some(Watch::for_leaving(folder));
                continue;
            };
            let Some(stat) = self.earlier(name)? else { continue };
            let stood = age(standing_since(&stat), SystemTime::now());
            match next(stood, self.bounds.stood, deadline.saturating_duration_since(Instant::now())) {
                Next::Replace => {
                    slot.settle_over(folder, name).map_err(|errno| slot.failed(path, errno))?;
                    return Ok(Earlier::Replaced);
                }
                Next::Wait(time) => watch.wait(time),
                Next::GiveUp => return Err(PutError::Deadline { path }),
            }
        }
    }
}

impl Handover {
    /// The metadata of the file under `name`, which must be one of ours.
    fn earlier(&self, name: &str) -> Result<Option<Stat>, PutError> {
        let path = self.folder.entries().path_of(name);
        match self.folder.entries().stat(name) {
            Ok(Some(stat)) if FileKind::of(&stat).is_file() && stat.st_uid == geteuid().as_raw() => {
                Ok(Some(stat))
            }
            Ok(Some(stat)) => Err(PutError::NotOurs { path, found: FileKind::of(&stat), owner: stat.st_uid }),
            Ok(None) => Ok(None),
            Err(errno) => Err(PutError::Look { path, source: errno.into() }),
        }
    }
}

impl Slot<'_> {
    /// Settles the slot, or fails with [`Errno::EXIST`] if something is at `name`.
    fn settle_if_free(&mut self, folder: &PrivateFolder, name: &str) -> Result<(), Errno> {
        match self {
            Self::Fill(temporary) => temporary.move_to(name, RenameFlags::NOREPLACE),
            Self::Clear if folder.stat(name)?.is_some() => Err(Errno::EXIST),
            Self::Clear => Ok(()),
        }
    }

    /// Settles the slot, replacing or removing whatever is at `name`.
    fn settle_over(&mut self, folder: &PrivateFolder, name: &str) -> Result<(), Errno> {
        match self {
            Self::Fill(temporary) => temporary.move_to(name, RenameFlags::empty()),
            Self::Clear => folder.remove(name),
        }
    }

    fn failed(&self, path: PathBuf, errno: Errno) -> PutError {
        let source = errno.into();
        match self {
            Self::Fill(temporary) => PutError::Move { from: temporary.path(), path, source },
            Self::Clear => PutError::Clear { path, source },
        }
    }
}

/// What to do about an earlier file that is still there.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Replace,
    Wait(Duration),
    GiveUp,
}

fn next(stood: Duration, bound: Duration, left: Duration) -> Next {
    match bound.checked_sub(stood) {
        None | Some(Duration::ZERO) => Next::Replace,
        Some(_) if left.is_zero() => Next::GiveUp,
        Some(wanted_for) => Next::Wait(wanted_for.min(left)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_file_is_waited_for_then_replaced_and_never_past_the_deadline() {
        let ms = Duration::from_millis;
        for (stood, left, expected) in [
            (0, 5000, Next::Wait(ms(1000))),
            (999, 5000, Next::Wait(ms(1))),
            (0, 300, Next::Wait(ms(300))),
            (1000, 5000, Next::Replace),
            (90_000, 5000, Next::Replace),
            // An expired file is replaced even at the last moment: it takes no time.
            (1000, 0, Next::Replace),
            (999, 0, Next::GiveUp),
        ] {
            assert_eq!(next(ms(stood), ms(1000), ms(left)), expected, "stood {stood} ms, {left} ms left");
        }
    }
}
