//! Reads files below a root folder.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, major, minor};

use crate::text::text;

/// How much is read of one file at most. The kernel's own limit for a Secret is 1 MiB; a `registries.conf` with
/// 100 000 entries has about 20 MiB. More than this is not configuration.
const MAX_BYTES: u64 = 256 << 20;

/// The device numbers of `/dev/null`, which reads as an empty file.
const NULL_DEVICE: (u32, u32) = (1, 3);
/// How many symbolic links are followed in a row, as in the kernel.
const MAX_LINKS: usize = 40;

/// A node's file system.
#[derive(Debug)]
pub struct NodeRoot {
    /// `None` for this machine.
    folder: Option<(OwnedFd, PathBuf)>,
}

impl NodeRoot {
    /// This machine.
    #[must_use]
    pub fn this_machine() -> Self {
        Self { folder: None }
    }

    /// A node's file system below `folder`.
    ///
    /// # Errors
    /// If `folder` cannot be opened as a folder.
    pub fn at(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        let opened = rustix::fs::open(folder, flags, Mode::empty())?;
        Ok(Self { folder: Some((opened, folder.to_owned())) })
    }

    /// The path on this machine of a path on the node, for messages.
    #[must_use]
    pub fn shown(&self, path: &Path) -> PathBuf {
        match &self.folder {
            None => path.to_owned(),
            Some((_, folder)) => folder.join(path.strip_prefix("/").unwrap_or(path)),
        }
    }

    /// The content of a regular file.
    ///
    /// # Errors
    /// If it cannot be opened or read, is not a regular file, or is too large to be configuration.
    pub fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_within(path, MAX_BYTES)
    }

    /// The same for a file of at most `most` bytes.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_within(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        // NONBLOCK: opening a pipe that somebody left there must not hang.
        let file = match self.open(path, OFlags::RDONLY | OFlags::NONBLOCK) {
            Err(_) if self.leads_to_null(path) => return Ok(Vec::new()),
            opened => File::from(opened?),
        };
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let device = metadata.rdev();
        if metadata.file_type().is_char_device() && (major(device), minor(device)) == NULL_DEVICE {
            return Ok(Vec::new());
        }
        if !metadata.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let mut content = Vec::with_capacity(usize::try_from(metadata.len().min(most)).unwrap_or(0));
        file.take(most + 1).read_to_end(&mut content)?;
        if content.len() as u64 > most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(content)
    }

    /// The content of a file of text.
    ///
    /// # Errors
    /// As [`Self::read`], and [`NotUtf8`](crate::NotUtf8) if it is not UTF-8.
    pub fn read_text(&self, path: &Path) -> io::Result<String> {
        self.read_text_within(path, MAX_BYTES)
    }

    /// The same for a file of at most `most` bytes.
    ///
    /// # Errors
    /// As [`Self::read_text`].
    pub fn read_text_within(&self, path: &Path, most: u64) -> io::Result<String> {
        text(self.read_within(path, most)?)
    }

    /// Whether a path below another root leads to `/dev/null`, over any number of links. People mask files that way. The node has
    /// the device, but a copy of its files, or a mount without devices, does not.
    fn leads_to_null(&self, path: &Path) -> bool {
        if self.folder.is_none() {
            return false;
        }
        let mut path = normal(path);
        for _ in 0..MAX_LINKS {
            if path == Path::new("/dev/null") {
                return true;
            }
            let link = self.open(&path, OFlags::PATH | OFlags::NOFOLLOW);
            let Some(target) = link.ok().and_then(|link| rustix::fs::readlinkat(link, "", Vec::new()).ok())
            else {
                return false;
            };
            let target = os_string(target.as_bytes());
            path = normal(&path.parent().unwrap_or(Path::new("/")).join(target));
        }
        false
    }

    /// Whether a path exists. A path below something that is not a folder does not.
    ///
    /// # Errors
    /// If the path cannot be looked up.
    pub fn exists(&self, path: &Path) -> io::Result<bool> {
        match self.open(path, OFlags::PATH) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The names of everything in a folder that is not a folder itself.
    ///
    /// # Errors
    /// If the folder cannot be opened or listed.
    pub fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.entries(path, |kind| kind != FileType::Directory)
    }

    /// The names of the folders in a folder, and of links, which may lead to one.
    ///
    /// # Errors
    /// If the folder cannot be opened or listed.
    pub fn folders(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.entries(path, |kind| matches!(kind, FileType::Directory | FileType::Symlink | FileType::Unknown))
    }

    /// The names of everything in a folder, and whether each is a folder itself.
    pub(crate) fn tree_entries(&self, path: &Path) -> io::Result<Vec<(OsString, bool)>> {
        let folders = self.entries(path, |kind| kind == FileType::Directory)?;
        let others = self.list(path)?;
        let entries = |names: Vec<OsString>, is_folder| names.into_iter().map(move |name| (name, is_folder));
        Ok(entries(folders, true).chain(entries(others, false)).collect())
    }

    fn entries(&self, path: &Path, wanted: impl Fn(FileType) -> bool) -> io::Result<Vec<OsString>> {
        let folder = self.open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for entry in Dir::new(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if wanted(entry.file_type()) && name != b"." && name != b".." {
                names.push(os_string(name));
            }
        }
        Ok(names)
    }

    fn open(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        Ok(match &self.folder {
            None => rustix::fs::openat(CWD, path, flags, Mode::empty())?,
            Some((folder, _)) => {
                rustix::fs::openat2(folder, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)?
            }
        })
    }
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::Normal(name) => normal.push(name),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    normal
}

fn os_string(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt as _;
    OsString::from_vec(bytes.to_vec())
}
