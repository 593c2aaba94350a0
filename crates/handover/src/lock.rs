//! Who may do what at the same time: locks on files outside the auth folder, freed by the kernel when their
//! holder dies.
//!
//! * A *name lock* makes plugins with a file for the same name queue. Other names have other locks.
//! * Everyone who puts or sweeps is *present* (a shared lock). Only who is *alone* (the same lock, exclusive) may
//!   stop sweeping or remove name locks: nobody is then about to rely on either.
//! * The *sweeper lock* is held by the one sweeper of the folder.

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

/// Why a lock was not had.
#[derive(Debug, Error)]
pub enum LockError {
    /// The lock's file cannot be made or locked.
    #[error("cannot lock {path:?}: {source}")]
    Lock {
        /// The lock's file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Others were before us all the time.
    #[error(
        "others held {path:?} until the deadline: too many pulls of one repository at once, the kubelet will retry"
    )]
    Deadline {
        /// The lock's file.
        path: PathBuf,
    },
}

/// The locks of one auth folder. Several auth folders may share a lock folder.
#[derive(Debug)]
pub(crate) struct Locks {
    folder: PrivateFolder,
    /// Names the auth folder by what it is (device and inode), however its path is written.
    prefix: String,
}

/// Held while putting or sweeping; with it come the name locks.
#[derive(Debug)]
pub(crate) struct Present<'a> {
    locks: &'a Locks,
    _lock: OwnedFd,
}

/// Held while nobody is [`Present`].
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

/// Held by the one who takes tickets.
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

    /// Waits until nobody is alone, which is never long.
    pub(crate) fn present(&self, deadline: Instant) -> Result<Present<'_>, LockError> {
        let lock = self.wait("present", FlockOperation::LockShared, deadline)?;
        Ok(Present { locks: self, _lock: lock })
    }

    pub(crate) fn alone(&self) -> Result<Option<Alone<'_>>, LockError> {
        let lock = self.attempt("present", FlockOperation::NonBlockingLockExclusive)?;
        Ok(lock.map(|lock| Alone { locks: self, _lock: lock }))
    }

    /// Takes the sweeper's place; `None` if a sweeper has it.
    ///
    /// Only a sweeper ever holds this lock exclusively. Who merely asks holds it shared for a moment; a sweeper
    /// that starts in that moment must not take it for another sweeper, so it asks in the same way itself.
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

    /// Whether a sweeper has its lock. The answer holds for as long as the asker is [`Present`]: a sweeper ends
    /// only when it is alone.
    pub(crate) fn sweeper_lives(&self) -> Result<bool, LockError> {
        Ok(self.attempt("sweeper", FlockOperation::NonBlockingLockShared)?.is_none())
    }

    /// Takes the place of who takes tickets. Who merely asks holds the lock shared, for a moment.
    pub(crate) fn take_tickets(&self) -> Result<TicketLock, LockError> {
        let (fd, path) = self.open_file("tickets")?;
        match retry_on_intr(|| flock(&fd, FlockOperation::LockExclusive)) {
            Ok(()) => Ok(TicketLock { _lock: fd }),
            Err(errno) => Err(LockError::Lock { path, source: errno.into() }),
        }
    }

    /// Whether somebody takes tickets.
    pub(crate) fn tickets_are_taken(&self) -> Result<bool, LockError> {
        Ok(self.attempt("tickets", FlockOperation::NonBlockingLockShared)?.is_none())
    }

    /// The names that a file was put for; none if none ever was.
    pub(crate) fn handed(&self) -> Result<Option<Handed>, LockError> {
        Handed::open(&self.folder, &format!("{}-handed-over", self.prefix))
    }

    /// The same, to add one.
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

    /// Waits for a lock in the kernel's queue, until `deadline`.
    fn wait(&self, what: &str, operation: FlockOperation, deadline: Instant) -> Result<OwnedFd, LockError> {
        let at_once = match operation {
            FlockOperation::LockShared => FlockOperation::NonBlockingLockShared,
            _ => FlockOperation::NonBlockingLockExclusive,
        };
        if let Some(fd) = self.attempt(what, at_once)? {
            return Ok(fd);
        }
        let (fd, path) = self.open_file(what)?;
        // The system has no lock with a time limit. A thread waits for it; if we stop waiting for the thread, it
        // finds nobody to give the lock to and so lets go of it.
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
    /// Waits in the queue for `name`.
    pub(crate) fn lock(&self, name: &AuthFileName, deadline: Instant) -> Result<NameLock<'_>, LockError> {
        let lock = self.locks.wait(&name.to_string(), FlockOperation::LockExclusive, deadline)?;
        Ok(NameLock { _present: self, _lock: lock })
    }

    /// The lock of `name` if nobody has it.
    pub(crate) fn try_lock(&self, name: &AuthFileName) -> Result<Option<NameLock<'_>>, LockError> {
        let lock = self.locks.attempt(&name.to_string(), FlockOperation::NonBlockingLockExclusive)?;
        Ok(lock.map(|lock| NameLock { _present: self, _lock: lock }))
    }
}

impl Alone<'_> {
    /// Removes the files of all name locks, or a node would gather one for each repository it ever pulled.
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
