//! Records the names for which a file was put since the node started.
//!
//! CRI-O gives the file of a name to whoever pulls next. Once there has been one, a pull of that name may have used it
//! even though its own plugin run put none, so the kubelet must never record that pull as one without credentials.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, openat};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};
use sha2::{Digest as _, Sha256};

use crate::folder::PrivateFolder;
use crate::handover::Handover;
use crate::lock::LockError;
use crate::name::AuthFileName;

/// How many names can be told apart. Each takes one byte in a sparse file, so a tenant who keeps pulling new
/// repositories costs the node at most four megabytes. Two names that share a byte both count as handed over, which
/// costs the second one a request to its registry.
const SLOTS: u64 = 1 << 22;

/// The table, kept in the lock folder, which a reboot empties.
pub(crate) struct Handed {
    file: OwnedFd,
    path: PathBuf,
}

impl Handed {
    /// Opens the table, creating it if it is missing.
    pub(crate) fn open_or_create(folder: &PrivateFolder, file_name: &str) -> Result<Self, LockError> {
        Self::open_with(folder, file_name, OFlags::CREATE).map_err(|(path, errno)| failed(&path, errno))
    }

    /// Opens the table if it exists.
    pub(crate) fn open(folder: &PrivateFolder, file_name: &str) -> Result<Option<Self>, LockError> {
        match Self::open_with(folder, file_name, OFlags::empty()) {
            Ok(table) => Ok(Some(table)),
            Err((_, Errno::NOENT)) => Ok(None),
            Err((path, errno)) => Err(failed(&path, errno)),
        }
    }

    fn open_with(folder: &PrivateFolder, name: &str, flags: OFlags) -> Result<Self, (PathBuf, Errno)> {
        let path = folder.path_of(name);
        let flags = flags | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
        match openat(folder, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(Self { file, path }),
            Err(errno) => Err((path, errno)),
        }
    }

    /// Writing a single byte is atomic, so this needs no lock.
    fn add(&self, name: &AuthFileName) -> Result<(), LockError> {
        match retry_on_intr(|| pwrite(&self.file, &[1], slot(name))) {
            Ok(1) => Ok(()),
            Ok(_) => Err(failed(&self.path, Errno::NOSPC)),
            Err(errno) => Err(failed(&self.path, errno)),
        }
    }

    fn has(&self, name: &AuthFileName) -> Result<bool, LockError> {
        let mut byte = [0];
        // Reading past the end of the file leaves the byte at zero.
        let read = retry_on_intr(|| pread(&self.file, &mut byte, slot(name)));
        read.map(|_| byte != [0]).map_err(|errno| failed(&self.path, errno))
    }
}

fn failed(path: &Path, errno: Errno) -> LockError {
    LockError::Lock { path: path.to_owned(), source: errno.into() }
}

impl Handover {
    /// Whether a file was put for `name` since the node started, or is there from before.
    ///
    /// # Errors
    /// A [`LockError`] if the table cannot be read.
    pub fn was_handed_over(&self, name: &AuthFileName) -> Result<bool, LockError> {
        match self.folder.entries().stat(&name.to_string()) {
            Ok(None) => {}
            // No runtime takes a folder.
            Ok(Some(stat)) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {}
            // If the check fails, a file may be there.
            Ok(Some(_)) | Err(_) => return Ok(true),
        }
        self.locks.handed()?.map_or(Ok(false), |table| table.has(name))
    }

    pub(crate) fn remember_handed_over(&self, name: &AuthFileName) -> Result<(), LockError> {
        self.locks.handed_or_create()?.add(name)
    }
}

fn slot(name: &AuthFileName) -> u64 {
    let digest: [u8; 32] = Sha256::digest(name.to_string()).into();
    digest[..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte)) % SLOTS
}
