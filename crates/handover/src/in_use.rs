//! `in-use/`, where claimed files are until their pull is over.

use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::path::Path;

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;

use crate::folder::{AuthFolder, FolderError, PrivateFolder};

const IN_USE: &str = "in-use";

/// Opens `in-use/` if it is there.
pub(crate) fn open(folder: &AuthFolder) -> Result<Option<PrivateFolder>, FolderError> {
    let entries = folder.entries();
    match PrivateFolder::open_at(entries.as_fd(), Path::new(IN_USE), entries.path_of(IN_USE)) {
        Ok(opened) => Ok(Some(opened)),
        Err(FolderError::Open { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens `in-use/`, making it (0700) if it is missing.
pub(crate) fn open_or_create(folder: &AuthFolder) -> Result<PrivateFolder, FolderError> {
    if let Some(opened) = open(folder)? {
        return Ok(opened);
    }
    let path = folder.entries().path_of(IN_USE);
    match mkdirat(folder.entries(), IN_USE, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => {
            return Err(FolderError::Create { path, source: errno.into() });
        }
    }
    PrivateFolder::open_at(folder.entries().as_fd(), Path::new(IN_USE), path)
}
