//! Putting a file where a runtime will take it, without taking away the one that another pull still needs.

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
    /// Our turn did not come.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The content could not be written: a full disk, a read-only folder.
    #[error("cannot write the auth file in {folder:?}: {source}")]
    Write {
        /// The auth folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The written file could not be moved to its name.
    #[error("cannot move {from:?} to {path:?}: {source}")]
    Move {
        /// The temporary file; it is removed.
        from: PathBuf,
        /// The auth file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Nobody can tell what stands where the file belongs.
    #[error("cannot look at {path:?}: {source}")]
    Look {
        /// The auth file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file of an earlier pull, which nobody took, could not be removed.
    #[error("cannot remove {path:?}, which no pull has taken: {source}")]
    Clear {
        /// The auth file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Something that no plugin writes stands where the file belongs.
    #[error("{path:?} is {found} of uid {owner}, not an auth file of ours: remove it")]
    NotOurs {
        /// Where the auth file belongs.
        path: PathBuf,
        /// What stands there.
        found: FileKind,
        /// Whose it is.
        owner: u32,
    },
    /// An earlier file was still wanted at the deadline.
    #[error("the earlier {path:?} was still waiting for its pull at the deadline: the kubelet will retry")]
    Deadline {
        /// The auth file.
        path: PathBuf,
    },
}

/// What became of the file for an earlier pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// None stood there.
    None,
    /// It was taken while we waited.
    Taken,
    /// Nobody came for it in time; it is gone, and what was put stands in its place.
    Replaced,
}

/// A file that has been put.
#[derive(Debug)]
pub struct Put {
    /// Where the file stands until it is claimed.
    pub path: PathBuf,
    /// What happened to the one before it.
    pub earlier: Earlier,
    /// How the tidying around it went.
    pub tidying: Tidying,
}

/// What was done about files that others left. Nothing to fail a pull for.
#[derive(Debug)]
pub struct Tidying {
    /// Whether a sweeper will remove the file if no pull claims it.
    pub sweeper: Result<(), SweeperError>,
    /// What was removed on the way.
    pub swept: Result<Swept, SweepError>,
}

/// What is to become of the one place for a name.
enum Slot<'a> {
    /// This file is to stand there.
    Fill(Temporary<'a>),
    /// Nothing is to stand there.
    Clear,
}

impl Handover {
    /// How long a put may take unless there is a reason for another time: the kubelet kills a plugin after 60 s,
    /// and the request for Secrets that comes before needs its share.
    pub const PUT_TIME: Duration = Duration::from_secs(40);

    /// Puts `content` under `name`, so that this pull and every other one of that name find a file each.
    ///
    /// Plugins with the same name queue, whole files move into place without replacing, and only what has stood
    /// longer than [`Bounds::stood`](crate::Bounds::stood) is replaced. Other names are not waited for.
    ///
    /// # Errors
    /// A [`PutError`]; then nothing of it is left in the folder, and the earlier file stands as it did.
    pub fn put(
        &self,
        name: &AuthFileName,
        content: &[u8],
        deadline: Instant,
        sweeper: &SweeperCommand,
    ) -> Result<Put, PutError> {
        let present = self.locks.present(deadline)?;
        // Before any credential is on the disk: if we are killed from here on, somebody is there to sweep.
        let sweeper = self.ensure_sweeper(&present, sweeper);
        let swept = self.sweep(&present, SystemTime::now());
        let _turn = present.lock(name, deadline)?;
        // Only now that it is our turn: a queue of fifty must not mean fifty copies of a credential on the disk.
        let temporary = Temporary::write(self.folder.entries(), content)
            .map_err(|source| PutError::Write { folder: self.folder.path().to_owned(), source })?;
        // Before it stands there: a kill in between must not leave a file that nobody remembers.
        self.earlier(&name.to_string())?;
        self.remember_handed_over(name)?;
        let earlier = self.settle(Slot::Fill(temporary), &name.to_string(), deadline)?;
        let path = self.folder.entries().path_of(&name.to_string());
        Ok(Put { path, earlier, tidying: Tidying { sweeper, swept } })
    }

    /// Waits until the file that stands under `name` is taken, and removes it if nobody comes for it in time.
    ///
    /// A pull that has no credential of its own begins only after this, so it does not take what was left for another. Who
    /// puts a file for the name waits meanwhile.
    ///
    /// # Errors
    /// A [`PutError`]; then the file may still stand there.
    pub fn clear(&self, name: &AuthFileName, deadline: Instant) -> Result<Earlier, PutError> {
        let present = self.locks.present(deadline)?;
        let _turn = present.lock(name, deadline)?;
        self.settle(Slot::Clear, &name.to_string(), deadline)
    }

    /// Makes of the place for `name` what `slot` says, after the earlier file was taken or stood too long. Requires the lock
    /// of `name`.
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
                // And try again: it may have been taken just before the watch began.
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
    /// The file that stands under `name`, which must be one of ours.
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
    /// Settles it unless something stands at `name`; then [`Errno::EXIST`].
    fn settle_if_free(&mut self, folder: &PrivateFolder, name: &str) -> Result<(), Errno> {
        match self {
            Self::Fill(temporary) => temporary.move_to(name, RenameFlags::NOREPLACE),
            Self::Clear if folder.stat(name)?.is_some() => Err(Errno::EXIST),
            Self::Clear => Ok(()),
        }
    }

    /// Settles it whatever stands at `name`.
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

/// What to do about an earlier file that still stands.
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
            // What nobody wants is replaced even at the last moment: it costs no time.
            (1000, 0, Next::Replace),
            (999, 0, Next::GiveUp),
        ] {
            assert_eq!(next(ms(stood), ms(1000), ms(left)), expected, "stood {stood} ms, {left} ms left");
        }
    }
}
