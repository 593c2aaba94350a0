//! The node's file system below a folder: nothing that is done through it reaches outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, fchmod, fgetxattr,
    flistxattr, fstat, fsync, mkdirat, openat, openat2, statat, statx, unlinkat,
};
use rustix::io::Errno;

use super::error::{Error, FileKind};
use super::file::{Attribute, FileFacts, FileState, copy};
use super::path::NodePath;

/// How often a lookup is tried again when somebody renames folders meanwhile.
const LOOKUPS: usize = 64;
/// The permissions of folders that we make, as for other configuration.
const FOLDER_MODE: u32 = 0o755;
/// The kernel's own limit for an attribute and for the list of their names.
const LARGEST_ATTRIBUTE: usize = 64 << 10;
/// Attributes that the kernel computes, and does not let others set.
const OF_THE_KERNEL: [&str; 2] = ["security.evm", "security.ima"];

/// The root of a node's file system, held open.
#[derive(Debug)]
pub struct HostRoot {
    fd: OwnedFd,
    shown: String,
}

/// The folder of a file, held open, and the file's name in it.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) folder: OwnedFd,
    pub(crate) name: &'a str,
}

impl Place<'_> {
    /// Whether nothing in the folder has this name.
    pub(crate) fn has_no(&self, name: &str) -> bool {
        matches!(statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
    }
}

impl HostRoot {
    /// Opens the folder where a node's root is mounted; `/` for this machine.
    ///
    /// # Errors
    /// If `folder` cannot be opened as a folder.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let shown = folder.display().to_string();
        let fd = rustix::fs::open(folder, flags, Mode::empty()).map_err(Error::io("open", &shown))?;
        Ok(Self { fd, shown })
    }

    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// A folder below the root. Links are followed, and cannot lead outside.
    pub(crate) fn folder(&self, path: &str) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        for _ in 1..LOOKUPS {
            match openat2(&self.fd, path, flags, Mode::empty(), inside) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                opened => return opened,
            }
        }
        openat2(&self.fd, path, flags, Mode::empty(), inside)
    }

    /// The place of a file; `None` if there is no such folder.
    pub(crate) fn place<'a>(&self, path: &'a NodePath) -> Result<Option<Place<'a>>, Error> {
        let (folder, name) = path.split();
        match self.folder(folder) {
            Ok(folder) => Ok(Some(Place { folder, name })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(Error::io("open the folder", folder)(errno)),
        }
    }

    /// The folders above a file that are missing, from the top.
    pub(crate) fn missing_folders(&self, path: &NodePath) -> Result<Vec<NodePath>, Error> {
        let mut missing = Vec::new();
        for folder in path.folders() {
            match self.folder(folder.as_str()) {
                Ok(_) => {}
                Err(Errno::NOENT) => missing.push(folder),
                Err(errno) => return Err(Error::io("open the folder", folder)(errno)),
            }
        }
        Ok(missing)
    }

    /// Makes folders, from the top, for good. A killed run may have made some.
    pub(crate) fn make_folders(&self, folders: &[NodePath]) -> Result<(), Error> {
        for path in folders {
            self.make_folder(path).map_err(Error::io("make the folder", path))?;
        }
        self.sync_above(folders)
    }

    fn make_folder(&self, path: &NodePath) -> Result<(), Errno> {
        let (above, name) = path.split();
        let above = self.folder(above)?;
        match mkdirat(&above, name, Mode::from_raw_mode(FOLDER_MODE)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = openat(&above, name, flags, Mode::empty())?;
        // Whatever the process's umask is.
        if fstat(&made)?.st_mode & 0o7777 == FOLDER_MODE {
            return Ok(());
        }
        fchmod(&made, Mode::from_raw_mode(FOLDER_MODE))
    }

    /// Waits until folders are on disk, or gone from it. Many are in the same one, which is synced once.
    pub(crate) fn sync_above<'a>(
        &self,
        folders: impl IntoIterator<Item = &'a NodePath>,
    ) -> Result<(), Error> {
        let above: BTreeSet<_> = folders.into_iter().map(|folder| folder.split().0).collect();
        for path in above {
            match self.folder(path).and_then(fsync) {
                // It is gone too.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(Error::io("write the folder", path)(errno)),
            }
        }
        Ok(())
    }

    /// Removes an empty folder; whether it is gone. For good after [`Self::sync_above`].
    pub(crate) fn remove_folder(&self, path: &NodePath) -> Result<bool, Error> {
        let Some(place) = self.place(path)? else { return Ok(true) };
        match unlinkat(&place.folder, place.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            // In use, or something else by now.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => Ok(false),
            // The kernel says this before it looks whether there is such a folder.
            Err(Errno::ROFS) if place.has_no(place.name) => Ok(true),
            Err(errno) => Err(Error::io("remove the folder", path)(errno)),
        }
    }

    /// What is at a path.
    pub(crate) fn observe(&self, path: &NodePath) -> Result<FileState, Error> {
        let Some((mut file, stat)) = self.open_file(path)? else { return Ok(FileState::Absent) };
        let digest = copy(&mut file, &mut io::sink()).map_err(Error::io("read", path))?;
        let attributes = attributes(&file).map_err(Error::io("read the attributes of", path))?;
        let mode = stat.st_mode & 0o7777;
        Ok(FileState::File(FileFacts { digest, mode, uid: stat.st_uid, gid: stat.st_gid, attributes }))
    }

    /// Opens a file for reading; `None` if there is none. Anything else than a file is refused before it is opened: opening a
    /// device may do something.
    pub(crate) fn open_file(&self, path: &NodePath) -> Result<Option<(File, rustix::fs::Stat)>, Error> {
        let failed = |errno: Errno| Error::io("open", path)(errno);
        let Some(place) = self.place(path)? else { return Ok(None) };
        let stat = match statx(&place.folder, place.name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS)
        {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(failed(errno)),
        };
        is_file(path, FileType::from_raw_mode(stat.stx_mode.into()))?;
        if stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
            return Err(Error::MountPoint { path: path.clone() });
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match openat(&place.folder, place.name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(failed(errno)),
        };
        let stat = fstat(&fd).map_err(failed)?;
        is_file(path, FileType::from_raw_mode(stat.st_mode))?;
        Ok(Some((File::from(fd), stat)))
    }

    /// Which file a path leads to, whatever links are on the way; `None` if the folder is missing.
    pub(crate) fn identity(&self, path: &NodePath) -> Result<Option<(u64, u64, String)>, Error> {
        let Some(place) = self.place(path)? else { return Ok(None) };
        let stat = fstat(&place.folder).map_err(Error::io("open the folder of", path))?;
        Ok(Some((stat.st_dev, stat.st_ino, place.name.to_owned())))
    }
}

fn is_file(path: &NodePath, found: FileType) -> Result<(), Error> {
    match found {
        FileType::RegularFile => Ok(()),
        found => Err(Error::NotAFile { path: path.clone(), found: FileKind(found) }),
    }
}

/// The attributes of a file that we may read and set.
pub(crate) fn attributes(file: impl AsFd) -> Result<BTreeMap<String, Attribute>, Errno> {
    let mut buffer = vec![0; LARGEST_ATTRIBUTE];
    let length = match flistxattr(&file, &mut buffer[..]) {
        Err(Errno::NOTSUP) => return Ok(BTreeMap::new()),
        length => length?,
    };
    let names = String::from_utf8_lossy(&buffer[..length]).into_owned();
    let mut attributes = BTreeMap::new();
    for name in names.split('\0').filter(|name| !name.is_empty() && !OF_THE_KERNEL.contains(name)) {
        match fgetxattr(&file, name, &mut buffer[..]) {
            Ok(length) => attributes.insert(name.to_owned(), Attribute(buffer[..length].to_vec())),
            // Removed meanwhile, or not for us.
            Err(Errno::NODATA | Errno::ACCESS | Errno::PERM | Errno::NOTSUP) => continue,
            Err(errno) => return Err(errno),
        };
    }
    Ok(attributes)
}
