//! Decides who may work at the same time: locks on files outside the auth folder, which the kernel frees when their
//! holder dies.
//!
//! * A *name lock* makes plugins that put a file for the same name queue. Each name has its own lock.
//! * Every process that puts or sweeps is *present* (a shared lock). Only a process that is *alone* (the same lock,
//!   exclusive) may stop sweeping or remove name locks, because then nobody is about to rely on either.
//! * The one sweeper of the folder holds the *sweeper lock*.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, openat};
use rustix::io::{Errno, retry_on_intr};
use thiserror::Error;

use crate::folder::{AuthFolder, FolderError, PrivateFolder};
use crate::handed::Handed;
use crate::name::AuthFileName;

/// Why a lock could not be taken.
#[derive(Debug, Error)]
pub enum LockError {
    /// The lock file cannot be created or locked.
    #[error("cannot lock {path:?}: {source}")]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Others held the lock until the deadline.
    #[error(
        "others held {path:?} until the deadline: too many pulls of one repository at once, the kubelet will retry"
    )]
    Deadline {
        /// The lock file.
        path: PathBuf,
    },
}

/// The locks of one auth folder. Several auth folders may share a lock folder.
#[derive(Debug)]
pub(crate) struct Locks {
    folder: PrivateFolder,
    /// Identifies the auth folder by its device and inode, however its path is written.
    prefix: String,
}

/// Held while putting or sweeping. Name locks are taken through it.
#[derive(Debug)]
pub(crate) struct Present<'a> {
    locks: &'a Locks,
    _lock: OwnedFd,
}

/// Held exclusively, while nobody is [`Present`].
#[derive(Debug)]
pub(crate) struct Alone<'a> {
    locks: &'a Locks,
    _lock: OwnedFd,
}

/// Held while working on the file of one name.
#[derive(Debug)]
pub(crate) struct NameLock<'a> {
    _present: &'a Present<'a>,
    _lock: OwnedFd,
}

/// Held by the process that takes tickets.
#[derive(Debug)]
pub(crate) struct TicketLock {
    _lock: OwnedFd,
}

/// Held by the one sweeper.
#[derive(Debug)]
pub(crate) struct SweeperLock {
    _lock: OwnedFd,
}

impl Locks {
    pub(crate) fn open(path: &Path, auth: &AuthFolder) -> Result<Self, FolderError> {
        let folder = PrivateFolder::open(path)?;
        let stat = fstat(auth.entries())
            .map_err(|errno| FolderError::Open { path: auth.path().to_owned(), source: errno.into() })?;
        Ok(Self { folder, prefix: format!("{:x}-{:x}", stat.st_dev, stat.st_ino) })
    }

    /// Waits until nobody is alone, which never takes long.
    pub(crate) fn present(&self, deadline: Instant) -> Result<Present<'_>, LockError> {
        let lock = self.wait("present", FlockOperation::LockShared, deadline)?;
        Ok(Present { locks: self, _lock: lock })
    }

    pub(crate) fn alone(&self) -> Result<Option<Alone<'_>>, LockError> {
        let lock = self.attempt("present", FlockOperation::NonBlockingLockExclusive)?;
        Ok(lock.map(|lock| Alone { locks: self, _lock: lock }))
    }

    /// Takes the sweeper lock; `None` if another sweeper has it.
    ///
    /// Only a sweeper ever holds this lock exclusively. A process that only checks for a sweeper holds it shared for a
    /// moment. A sweeper that starts in that moment must not mistake it for another sweeper, so it checks in the same
    /// way.
    pub(crate) fn become_sweeper(&self) -> Result<Option<SweeperLock>, LockError> {
        loop {
            if let Some(lock) = self.attempt("sweeper", FlockOperation::NonBlockingLockExclusive)? {
                return Ok(Some(SweeperLock { _lock: lock }));
            }
            if self.sweeper_lives()? {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether a sweeper holds its lock. The answer holds for as long as the caller is [`Present`]: a sweeper ends only
    /// when it is alone.
    pub(crate) fn sweeper_lives(&self) -> Result<bool, LockError> {
        Ok(self.attempt("sweeper", FlockOperation::NonBlockingLockShared)?.is_none())
    }

    /// Takes the lock of the process that takes tickets. A process that only checks holds it shared for a moment.
    pub(crate) fn take_tickets(&self) -> Result<TicketLock, LockError> {
        let (fd, path) = self.open_file("tickets")?;
        match retry_on_intr(|| flock(&fd, FlockOperation::LockExclusive)) {
            Ok(()) => Ok(TicketLock { _lock: fd }),
            Err(errno) => Err(LockError::Lock { path, source: errno.into() }),
        }
    }

    /// Whether a process takes tickets.
    pub(crate) fn tickets_are_taken(&self) -> Result<bool, LockError> {
        Ok(self.attempt("tickets", FlockOperation::NonBlockingLockShared)?.is_none())
    }

    /// The record of names that a file was put for; `None` if no file was ever put.
    pub(crate) fn handed(&self) -> Result<Option<Handed>, LockError> {
        Handed::open(&self.folder, &format!("{}-handed-over", self.prefix))
    }

    /// The same record, created if it is missing.
    pub(crate) fn handed_or_create(&self) -> Result<Handed, LockError> {
        Handed::open_or_create(&self.folder, &format!("{}-handed-over", self.prefix))
    }

    fn file_name(&self, what: &str) -> String {
        format!("{}-{what}.lock", self.prefix)
    }

    fn open_file(&self, what: &str) -> Result<(OwnedFd, PathBuf), LockError> {
        let name = self.file_name(what);
        let path = self.folder.path_of(&name);
        let flags = OFlags::CREATE | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
        match openat(&self.folder, &name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => Ok((fd, path)),
            Err(errno) => Err(LockError::Lock { path, source: errno.into() }),
        }
    }

    fn attempt(&self, what: &str, operation: FlockOperation) -> Result<Option<OwnedFd>, LockError> {
        let (fd, path) = self.open_file(what)?;
        match retry_on_intr(|| flock(&fd, operation)) {
            Ok(()) => Ok(Some(fd)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(LockError::Lock { path, source: errno.into() }),
        }
    }

    /// Waits in the kernel's queue for a lock, until `deadline`.
    fn wait(&self, what: &str, operation: FlockOperation, deadline: Instant) -> Result<OwnedFd, LockError> {
        let at_once = match operation {
            FlockOperation::LockShared => FlockOperation::NonBlockingLockShared,
            _ => FlockOperation::NonBlockingLockExclusive,
        };
        if let Some(fd) = self.attempt(what, at_once)? {
            return Ok(fd);
        }
        let (fd, path) = self.open_file(what)?;
        // `flock` has no time limit, so a thread waits for the lock. If we stop waiting for the thread, it finds nobody
        // to give the lock to and releases it.
        let (give, take) = sync_channel(0);
        let waiting = std::thread::Builder::new().name("lock".to_owned()).spawn(move || {
            let locked = retry_on_intr(|| flock(&fd, operation)).map(|()| fd);
            let _ = give.send(locked);
        });
        if let Err(source) = waiting {
            return Err(LockError::Lock { path, source });
        }
        match take.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Ok(fd)) => Ok(fd),
            Ok(Err(errno)) => Err(LockError::Lock { path, source: errno.into() }),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Err(LockError::Deadline { path })
            }
        }
    }
}

impl Present<'_> {
    /// Waits in the queue for the lock of `name`.
    pub(crate) fn lock(&self, name: &AuthFileName, deadline: Instant) -> Result<NameLock<'_>, LockError> {
        let lock = self.locks.wait(&name.to_string(), FlockOperation::LockExclusive, deadline)?;
        Ok(NameLock { _present: self, _lock: lock })
    }

    /// Takes the lock of `name` if nobody holds it.
    pub(crate) fn try_lock(&self, name: &AuthFileName) -> Result<Option<NameLock<'_>>, LockError> {
        let lock = self.locks.attempt(&name.to_string(), FlockOperation::NonBlockingLockExclusive)?;
        Ok(lock.map(|lock| NameLock { _present: self, _lock: lock }))
    }
}

impl Alone<'_> {
    /// Removes all name lock files. Otherwise a node would collect one for each repository that it ever pulled.
    pub(crate) fn remove_name_locks(&self) -> Result<(), Errno> {
        let Locks { folder, prefix } = self.locks;
        for name in folder.names()? {
            let of_ours = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-'));
            let locked = of_ours.and_then(|rest| rest.strip_suffix(".lock"));
            if locked.and_then(AuthFileName::parse).is_some() {
                folder.remove(&name)?;
            }
        }
        Ok(())
    }
}
