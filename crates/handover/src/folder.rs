//! A folder that only we can change, held open by its descriptor: the auth folder, `in-use/`, the lock folder.

use std::fmt;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use thiserror::Error;

/// Permission bits that let the group or everybody create files in a folder.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Why a folder cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// The path is relative, so it would depend on the kubelet's working directory.
    #[error("{path:?} is not an absolute path: give the folder from the root on")]
    NotAbsolute {
        /// The path given.
        path: PathBuf,
    },
    /// The folder does not exist and cannot be created.
    #[error("cannot create {path:?}: {source}")]
    Create {
        /// The folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The folder cannot be opened or inspected.
    #[error("cannot open {path:?}: {source}")]
    Open {
        /// The folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The path is not a folder. A symlink is refused too: it may lead to a place that anybody can read.
    #[error("{path:?} is {found}, not a folder: give the real folder, or remove what is there")]
    NotAFolder {
        /// The path.
        path: PathBuf,
        /// What was found there.
        found: FileKind,
    },
    /// Somebody else owns the folder and could read or swap every credential in it.
    #[error("{path:?} belongs to uid {owner}, and we run as uid {ours}: chown it, or give another folder")]
    OtherOwner {
        /// The folder.
        path: PathBuf,
        /// The user ID of its owner.
        owner: u32,
        /// The user ID we run as.
        ours: u32,
    },
    /// Others can write to the folder, so they could put files or links where credentials are expected.
    #[error("{path:?} can be written by others (mode {mode:04o}): chmod go-w {path:?}")]
    Writable {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

/// The kind of a file, in words for an error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileKind(FileType);

impl FileKind {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self(FileType::from_raw_mode(stat.st_mode))
    }

    pub(crate) fn is_file(self) -> bool {
        self.0 == FileType::RegularFile
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            FileType::RegularFile => "a file",
            FileType::Directory => "a folder",
            FileType::Symlink => "a symlink",
            FileType::Fifo => "a fifo",
            FileType::Socket => "a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            FileType::Unknown => "of an unknown kind",
        })
    }
}

/// A folder that belongs to us and that nobody else can write to. All work in it goes through the descriptor: whatever
/// happens to the path later, files are created and removed in the folder that was checked.
#[derive(Debug)]
pub(crate) struct PrivateFolder {
    fd: OwnedFd,
    path: PathBuf,
}

impl PrivateFolder {
    /// Opens `path`, creating it (0700) if it is missing.
    pub(crate) fn open(path: &Path) -> Result<Self, FolderError> {
        if !path.is_absolute() {
            return Err(FolderError::NotAbsolute { path: path.to_owned() });
        }
        // Drop a trailing slash or dot: with one, the kernel follows a symlink whatever the flags say.
        let path: PathBuf = path.components().collect();
        match Self::open_at(CWD, &path, path.clone()) {
            Err(FolderError::Open { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
        create(&path).map_err(|source| FolderError::Create { path: path.clone(), source })?;
        Self::open_at(CWD, &path, path.clone())
    }

    /// Opens `name` inside `parent`; error messages use `path`.
    pub(crate) fn open_at(parent: BorrowedFd<'_>, name: &Path, path: PathBuf) -> Result<Self, FolderError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened =
            openat(parent, name, flags, Mode::empty()).and_then(|fd| fstat(&fd).map(|stat| (fd, stat)));
        match opened {
            Ok((fd, stat)) => {
                check_ours(&stat, rustix::process::geteuid().as_raw(), &path)?;
                Ok(Self { fd, path })
            }
            Err(Errno::NOTDIR | Errno::LOOP) => match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Err(FolderError::NotAFolder { path, found: FileKind::of(&stat) }),
                // A component of the path above it is a file.
                Err(errno) => Err(FolderError::Open { path, source: errno.into() }),
            },
            Err(errno) => Err(FolderError::Open { path, source: errno.into() }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of an entry, for messages and for callers that need a path.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The metadata of `name`, without following a symlink.
    pub(crate) fn stat(&self, name: &str) -> Result<Option<Stat>, Errno> {
        match statat(self, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Removes the file `name`; succeeds if the file is already gone.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Errno> {
        match rustix::fs::unlinkat(self, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// The names of all entries that are valid UTF-8, as all of ours are.
    pub(crate) fn names(&self) -> Result<Vec<String>, Errno> {
        rustix::fs::Dir::read_from(self)?
            .filter_map(|entry| {
                entry.map(|entry| entry.file_name().to_str().ok().map(str::to_owned)).transpose()
            })
            .collect()
    }
}

impl AsFd for PrivateFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The folder in which auth files are handed over.
#[derive(Debug)]
pub struct AuthFolder(PrivateFolder);

impl AuthFolder {
    /// Opens the folder at an absolute path, creating it (0700) if it is missing.
    ///
    /// CRI-O creates it with mode 0755: others may list the folder, but not write to it. A runtime opens it again
    /// for each pull: if the folder is removed and created again, an old descriptor shows an empty folder.
    ///
    /// # Errors
    /// A [`FolderError`] if it is not a folder, is not ours, or can be written by others.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        PrivateFolder::open(path).map(Self)
    }

    /// The path it was opened with.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn entries(&self) -> &PrivateFolder {
        &self.0
    }
}

fn check_ours(stat: &Stat, ours: u32, path: &Path) -> Result<(), FolderError> {
    let mode = stat.st_mode & 0o7777;
    if stat.st_uid != ours {
        Err(FolderError::OtherOwner { path: path.to_owned(), owner: stat.st_uid, ours })
    } else if mode & WRITABLE_BY_OTHERS != 0 {
        Err(FolderError::Writable { path: path.to_owned(), mode })
    } else {
        Ok(())
    }
}

/// Creates the folder itself as private, and its parents with the usual mode: `/etc/crio` holds more than credentials.
fn create(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        // Another plugin, or CRI-O, was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}
