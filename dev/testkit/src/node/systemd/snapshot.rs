//! What is in folders of a node, to show that something left them as they were.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::{Error, error::Doing as _};

/// Everything in some folders, by its path on the node.
pub type Snapshot = BTreeMap<PathBuf, SnapshotEntry>;

/// One file, folder or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotEntry {
    /// What it is.
    pub kind: Kind,
    /// The permissions.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// What an entry is, with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A file with this SHA-256.
    File(String),
    /// A symbolic link with this target.
    Link(PathBuf),
    /// A socket, pipe or device.
    Special,
}

/// Adds `path`, which is below `root`, and everything in it.
pub(super) fn add(root: &Path, path: &Path, entries: &mut Snapshot) -> Result<(), Error> {
    let here = root.join(path.strip_prefix("/").unwrap_or(path));
    let metadata = match fs::symlink_metadata(&here) {
        // It may have gone since its folder was read.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.doing("reading", &here)?,
    };
    let kind = metadata.file_type();
    let kind = if kind.is_dir() {
        for entry in fs::read_dir(&here).doing("reading", &here)?.flatten() {
            add(root, &path.join(entry.file_name()), entries)?;
        }
        Kind::Folder
    } else if kind.is_symlink() {
        Kind::Link(fs::read_link(&here).doing("reading", &here)?)
    } else if kind.is_socket() || kind.is_fifo() || kind.is_block_device() || kind.is_char_device() {
        Kind::Special
    } else {
        Kind::File(format!("{:x}", Sha256::digest(fs::read(&here).doing("reading", &here)?)))
    };
    let entry =
        SnapshotEntry { kind, mode: metadata.mode() & 0o7777, uid: metadata.uid(), gid: metadata.gid() };
    entries.insert(path.to_owned(), entry);
    Ok(())
}
