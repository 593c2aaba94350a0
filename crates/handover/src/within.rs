//! The folders inside the auth folder: `in-use/` holds claimed files until their pull is over, `tickets/` holds files
//! that only the holder of a ticket may take.

use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::path::Path;

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;

use crate::folder::{AuthFolder, FolderError, PrivateFolder};

/// A folder inside the auth folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Within {
    /// `in-use/`
    InUse,
    /// `tickets/`
    Tickets,
}

impl Within {
    fn name(self) -> &'static str {
        match self {
            Self::InUse => "in-use",
            Self::Tickets => "tickets",
        }
    }

    /// Opens the folder if it exists.
    pub(crate) fn open(self, folder: &AuthFolder) -> Result<Option<PrivateFolder>, FolderError> {
        let entries = folder.entries();
        match PrivateFolder::open_at(entries.as_fd(), Path::new(self.name()), entries.path_of(self.name())) {
            Ok(opened) => Ok(Some(opened)),
            Err(FolderError::Open { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the folder, creating it (0700) if it is missing.
    pub(crate) fn open_or_create(self, folder: &AuthFolder) -> Result<PrivateFolder, FolderError> {
        if let Some(opened) = self.open(folder)? {
            return Ok(opened);
        }
        let path = folder.entries().path_of(self.name());
        match mkdirat(folder.entries(), self.name(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => {
                return Err(FolderError::Create { path, source: errno.into() });
            }
        }
        PrivateFolder::open_at(folder.entries().as_fd(), Path::new(self.name()), path)
    }
}
