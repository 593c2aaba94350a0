//! A folder that only we can change, held by its descriptor: the auth folder, `in-use/`, the lock folder.

use std::fmt;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use thiserror::Error;

/// Bits that let the group or everybody put files into a folder.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Why a folder is not used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// A relative path would depend on where the kubelet happens to run.
    #[error("{path:?} is not an absolute path: give the folder from the root on")]
    NotAbsolute {
        /// The path given.
        path: PathBuf,
    },
    /// It does not exist and cannot be made.
    #[error("cannot create {path:?}: {source}")]
    Create {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It cannot be opened or looked at.
    #[error("cannot open {path:?}: {source}")]
    Open {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A symlink may lead where anybody reads; a file is no folder.
    #[error("{path:?} is {found}, not a folder: give the real folder, or remove what is there")]
    NotAFolder {
        /// The path.
        path: PathBuf,
        /// What stands there.
        found: FileKind,
    },
    /// Its owner could read or swap every credential in it.
    #[error("{path:?} belongs to uid {owner}, and we run as uid {ours}: chown it, or give another folder")]
    OtherOwner {
        /// The folder.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
        /// Who we are.
        ours: u32,
    },
    /// Others could put files or links where credentials are expected.
    #[error("{path:?} can be written by others (mode {mode:04o}): chmod go-w {path:?}")]
    Writable {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

/// What stands at a path, in words for an error.
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

/// A folder that belongs to us and that nobody else can write to. All work in it goes through the descriptor:
/// whatever happens to the path later, files are made and removed in the folder that was checked.
#[derive(Debug)]
pub(crate) struct PrivateFolder {
    fd: OwnedFd,
    path: PathBuf,
}

impl PrivateFolder {
    /// Opens `path`, making it (0700) if it is missing.
    pub(crate) fn open(path: &Path) -> Result<Self, FolderError> {
        if !path.is_absolute() {
            return Err(FolderError::NotAbsolute { path: path.to_owned() });
        }
        // Without trailing slash or dot: with one, the system follows a symlink whatever the flags say.
        let path: PathBuf = path.components().collect();
        match Self::open_at(CWD, &path, path.clone()) {
            Err(FolderError::Open { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
        create(&path).map_err(|source| FolderError::Create { path: path.clone(), source })?;
        Self::open_at(CWD, &path, path.clone())
    }

    /// Opens `name` within `parent`; `path` is what errors call it.
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
                // A file stands somewhere above it.
                Err(errno) => Err(FolderError::Open { path, source: errno.into() }),
            },
            Err(errno) => Err(FolderError::Open { path, source: errno.into() }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of an entry, for messages and for those who must be given one.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What stands at `name`, without following a link.
    pub(crate) fn stat(&self, name: &str) -> Result<Option<Stat>, Errno> {
        match statat(self, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Removes the file `name`; that it is gone already is as good.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Errno> {
        match rustix::fs::unlinkat(self, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// The names in it that are text; those of ours all are.
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

/// The folder that auth files are handed over in.
#[derive(Debug)]
pub struct AuthFolder(PrivateFolder);

impl AuthFolder {
    /// Opens the folder at an absolute path, making it (0700) if it is missing.
    ///
    /// CRI-O makes it 0755: that others may list it is accepted, that they may write to it is not. A runtime
    /// opens it anew for each pull; if it were removed and made again, an old descriptor would show an empty one.
    ///
    /// # Errors
    /// A [`FolderError`] if it is not a folder, not ours, or open to others' writing.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        PrivateFolder::open(path).map(Self)
    }

    /// The path it was opened by.
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

/// Makes the folder itself private, and the way to it as usual: `/etc/crio` holds more than credentials.
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
