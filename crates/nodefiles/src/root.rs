//! A root folder and reading below it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags};

/// The most that is read of one file. The kernel's own limit for a Secret is 1 MiB; a `registries.conf` with
/// 100 000 entries has about 20 MiB. More than this is not configuration.
const MAX_BYTES: u64 = 256 << 20;

/// Where a node's file system is.
#[derive(Debug)]
pub struct NodeRoot {
    /// `None` for this machine as it is.
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
        // NONBLOCK: opening a pipe that somebody left there must not hang.
        let file = File::from(self.open(path, OFlags::RDONLY | OFlags::NONBLOCK)?);
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        file.take(MAX_BYTES + 1).read_to_end(&mut content)?;
        if content.len() as u64 > MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(content)
    }

    /// The content of a file of text.
    ///
    /// # Errors
    /// As [`Self::read`], and if it is not UTF-8.
    pub fn read_text(&self, path: &Path) -> io::Result<String> {
        String::from_utf8(self.read(path)?)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text"))
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

fn os_string(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt as _;
    OsString::from_vec(bytes.to_vec())
}
