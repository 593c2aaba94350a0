//! Putting a file where a runtime will take it, without taking away the one that another pull still needs.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use rustix::io::Errno;
use rustix::process::geteuid;
use thiserror::Error;

use crate::age::{age, standing_since};
use crate::folder::FileKind;
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
    /// Nobody came for it in time; ours stands in its place.
    Replaced,
}

/// A file that has been put, and how the tidying around it went. The tidying is nothing to fail a pull for.
#[derive(Debug)]
pub struct Put {
    /// Where the file stands until it is claimed.
    pub path: PathBuf,
    /// What happened to the one before it.
    pub earlier: Earlier,
    /// Whether somebody will remove the file if nobody claims it.
    pub sweeper: Result<(), SweeperError>,
    /// What was removed on the way.
    pub swept: Result<Swept, SweepError>,
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
        let earlier = self.move_into_place(temporary, &name.to_string(), deadline)?;
        Ok(Put { path: self.folder.entries().path_of(&name.to_string()), earlier, sweeper, swept })
    }

    /// Requires the lock of `name`.
    fn move_into_place(
        &self,
        mut temporary: Temporary<'_>,
        name: &str,
        deadline: Instant,
    ) -> Result<Earlier, PutError> {
        let folder = self.folder.entries();
        let path = folder.path_of(name);
        let failed =
            |from: PathBuf, errno: Errno| PutError::Move { from, path: path.clone(), source: errno.into() };
        let mut watch = None;
        loop {
            match temporary.move_without_replacing(name) {
                Ok(()) => {
                    return Ok(if watch.is_some() { Earlier::Taken } else { Earlier::None });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed(temporary.path(), errno)),
            }
            let Some(watch) = &watch else {
                // And try again: it may have been taken just before the watch began.
                watch = Some(Watch::new(folder));
                continue;
            };
            let stat = match folder.stat(name) {
                Ok(Some(stat)) => stat,
                Ok(None) => continue,
                Err(errno) => return Err(failed(temporary.path(), errno)),
            };
            let found = FileKind::of(&stat);
            if !found.is_file() || stat.st_uid != geteuid().as_raw() {
                return Err(PutError::NotOurs { path, found, owner: stat.st_uid });
            }
            let stood = age(standing_since(&stat), SystemTime::now());
            match next(stood, self.bounds.stood, deadline.saturating_duration_since(Instant::now())) {
                Next::Replace => {
                    temporary.move_over(name).map_err(|errno| failed(temporary.path(), errno))?;
                    return Ok(Earlier::Replaced);
                }
                Next::Wait(time) => watch.wait(time),
                Next::GiveUp => return Err(PutError::Deadline { path }),
            }
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
