//! Writes one file beside its place, whole, and moves it there.

use std::fs::File;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Uid, XattrFlags, fchmod, fchown, fremovexattr, fsetxattr, fstat, fsync,
    openat, renameat, unlinkat,
};
use rustix::io::Errno;

use super::error::Error;
use super::file::{FileFacts, LABEL, copy};
use super::path::NodePath;
use super::root::{HostRoot, Place, attributes};

/// Writes a file beside its place and waits until it is on disk. Its name is one that the readers of configuration folders pass
/// over: a dot, and no suffix.
///
/// Nobody else can open it until its owner, attributes and permissions are right, which is after the content is in: the kernel
/// takes capabilities away from a file when it changes owner or content.
///
/// A file without a label in `facts` has the one that the kernel gives to new files in that folder.
pub(crate) fn stage(
    root: &HostRoot,
    path: &NodePath,
    temporary: &str,
    facts: &FileFacts,
    (mut content, kept_as): (File, String),
) -> Result<(), Error> {
    let failed = |errno: Errno| Error::io("write", path)(errno);
    let Some(place) = root.place(path)? else { return Err(failed(Errno::NOENT)) };
    remove_name(&place, temporary).map_err(failed)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
    let fd = openat(&place.folder, temporary, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
    let filled = fill(File::from(fd), path, facts, &mut content, kept_as);
    if filled.is_err() {
        // It may have taken the last of the space. If this fails, undoing the switch removes it.
        let _ = remove_name(&place, temporary);
    }
    filled
}

fn fill(
    mut file: File,
    path: &NodePath,
    facts: &FileFacts,
    content: &mut File,
    kept_as: String,
) -> Result<(), Error> {
    if copy(content, &mut file).map_err(Error::io("write", path))? != facts.digest {
        return Err(Error::Damaged { file: kept_as });
    }
    dress(&file, facts).map_err(Error::io("set owner and attributes of", path))?;
    fsync(&file).map_err(Error::io("write", path))
}

/// Moves a staged file to its place, for good.
pub(crate) fn put(root: &HostRoot, path: &NodePath, temporary: &str) -> Result<(), Error> {
    let Some(Place { folder, name }) = root.place(path)? else {
        return Err(Error::io("replace", path)(Errno::NOENT));
    };
    match renameat(&folder, temporary, &folder, name) {
        Ok(()) => fsync(&folder).map_err(Error::io("write the folder of", path)),
        Err(Errno::BUSY) => Err(Error::MountPoint { path: path.clone() }),
        Err(errno) => Err(Error::io("replace", path)(errno)),
    }
}

/// Removes a file, for good.
pub(crate) fn remove(root: &HostRoot, path: &NodePath) -> Result<(), Error> {
    let Some(place) = root.place(path)? else { return Ok(()) };
    match remove_name(&place, place.name) {
        Ok(()) => fsync(&place.folder).map_err(Error::io("write the folder of", path)),
        Err(Errno::BUSY) => Err(Error::MountPoint { path: path.clone() }),
        Err(errno) => Err(Error::io("remove", path)(errno)),
    }
}

/// Removes what was staged for a file and not put.
pub(crate) fn remove_temporary(root: &HostRoot, path: &NodePath, temporary: &str) -> Result<(), Error> {
    let Some(place) = root.place(path)? else { return Ok(()) };
    remove_name(&place, temporary).map_err(Error::io("remove the temporary file of", path))
}

fn remove_name(place: &Place<'_>, name: &str) -> Result<(), Errno> {
    match unlinkat(&place.folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        // The kernel says this before it looks whether there is such a file.
        Err(Errno::ROFS) if place.has_no(name) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Gives a file its owner, attributes and permissions. A file inherits access control lists from its folder, so attributes that
/// it should not have are taken away.
fn dress(file: &File, facts: &FileFacts) -> Result<(), Errno> {
    let stat = fstat(file)?;
    if (stat.st_uid, stat.st_gid) != (facts.uid, facts.gid) {
        fchown(file, Some(Uid::from_raw(facts.uid)), Some(Gid::from_raw(facts.gid)))?;
    }
    let has = attributes(file)?;
    for name in has.keys().filter(|name| *name != LABEL && !facts.attributes.contains_key(*name)) {
        fremovexattr(file, name.as_str())?;
    }
    for (name, value) in &facts.attributes {
        if has.get(name) != Some(value) {
            fsetxattr(file, name.as_str(), &value.0, XattrFlags::empty())?;
        }
    }
    fchmod(file, Mode::from_raw_mode(facts.mode))
}
