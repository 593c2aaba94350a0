//! The runtime's side of the contract: takes a file for one pull and removes it however that pull ends.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, RenameFlags, fstat, openat, renameat, renameat_with};
use rustix::io::Errno;
use thiserror::Error;

use crate::folder::{AuthFolder, FileKind, FolderError, PrivateFolder};
use crate::name::AuthFileName;
use crate::within::Within;

/// The largest auth file that is read: enough for thousands of entries, and no more memory than a node can spare.
const LARGEST: u64 = 16 << 20;

/// Why a file was not claimed, read or removed.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// `in-use/` cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The file exists but cannot be taken.
    #[error("cannot claim {path:?}: {source}")]
    Take {
        /// The auth file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Something other than a file is at the path; it was left as it is.
    #[error("{path:?} is {found}, not an auth file: remove it")]
    NotAFile {
        /// The auth file's path.
        path: PathBuf,
        /// What was found there.
        found: FileKind,
    },
    /// The claimed file cannot be read.
    #[error("cannot read {path:?}: {source}")]
    Read {
        /// The claimed file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The claimed file is larger than any file that a plugin writes.
    #[error("{path:?} is larger than {} bytes: not an auth file", LARGEST)]
    TooLarge {
        /// The claimed file.
        path: PathBuf,
    },
    /// The claimed file cannot be removed; a sweeper will try again.
    #[error("cannot remove {path:?}: {source}")]
    Remove {
        /// The claimed file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl AuthFolder {
    /// Takes the file of `name` for one pull; `None` if there is none, and the pull goes on without it.
    ///
    /// The file is moved without a check first: another pull could take it between the check and the move. If the move
    /// fails, nothing is removed, because the file that is there by then may be for somebody else.
    ///
    /// # Errors
    /// A [`ClaimError`] if something is there that cannot be taken.
    pub fn claim(&self, name: &AuthFileName) -> Result<Option<Claim>, ClaimError> {
        self.claim_from(self.entries(), &name.to_string(), name)
    }

    /// Takes `file`, a file for `name`, out of `folder`.
    pub(crate) fn claim_from(
        &self,
        folder: &PrivateFolder,
        file: &str,
        name: &AuthFileName,
    ) -> Result<Option<Claim>, ClaimError> {
        let in_use = Within::InUse.open_or_create(self)?;
        let path = folder.path_of(file);
        let failed = |errno: Errno| ClaimError::Take { path: path.clone(), source: errno.into() };
        let claimed = name.claimed().map_err(failed)?;
        match renameat(folder, file, &in_use, &claimed) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(failed(errno)),
        }
        if let Some(found) = in_use.stat(&claimed).map_err(failed)?.as_ref().map(FileKind::of)
            && !found.is_file()
        {
            renameat_with(&in_use, &claimed, folder, file, RenameFlags::NOREPLACE).map_err(failed)?;
            return Err(ClaimError::NotAFile { path, found });
        }
        Ok(Some(Claim { path: in_use.path_of(&claimed), in_use, name: claimed }))
    }
}

/// A file taken for one pull. Dropping the claim removes the file.
pub struct Claim {
    in_use: PrivateFolder,
    name: String,
    path: PathBuf,
}

impl Claim {
    /// The current path of the file, for a library that needs one.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of the file. It holds credentials, so do not log it.
    ///
    /// # Errors
    /// A [`ClaimError`] if the file cannot be read or is too large to be an auth file.
    pub fn read(&self) -> Result<Vec<u8>, ClaimError> {
        let failed = |source| ClaimError::Read { path: self.path.clone(), source };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.in_use, &self.name, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
        let size = u64::try_from(fstat(&fd).map_err(|e| failed(e.into()))?.st_size).unwrap_or(0);
        // Allocate the full size at once: growing would leave copies of credentials in freed memory.
        let mut content = Vec::with_capacity(usize::try_from(size.min(LARGEST) + 1).unwrap_or(0));
        File::from(fd).take(LARGEST + 1).read_to_end(&mut content).map_err(failed)?;
        if content.len() as u64 > LARGEST {
            return Err(ClaimError::TooLarge { path: self.path.clone() });
        }
        Ok(content)
    }

    /// Removes the file and reports whether that worked; dropping the claim ignores a failure.
    ///
    /// # Errors
    /// [`ClaimError::Remove`] if the file is still there.
    pub fn release(self) -> Result<(), ClaimError> {
        self.remove().map_err(|errno| ClaimError::Remove { path: self.path.clone(), source: errno.into() })
    }

    fn remove(&self) -> Result<(), Errno> {
        self.in_use.remove(&self.name)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // If this fails, the sweeper removes the file later.
        let _ = self.remove();
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("path", &self.path).finish_non_exhaustive()
    }
}
