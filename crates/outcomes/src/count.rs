//! The plugin's side: adds one to a count.

use std::io;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::{Errno, write};

use crate::{FILE_MAX, Reason};

/// Counts one run. Does nothing if the folder does not exist, or if the file is full.
///
/// # Errors
/// If the operating system refuses. No pull should fail for that.
pub fn count(folder: &Path, reason: Reason) -> io::Result<()> {
    // A pipe in place of the file must not hold up a pull.
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::CLOEXEC;
    let file = match open(folder.join(reason.name()), flags, Mode::RUSR | Mode::WUSR) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        opened => opened?,
    };
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is not a file"));
    }
    if u64::try_from(stat.st_size).is_ok_and(|size| size < FILE_MAX) {
        write(&file, b".")?;
    }
    Ok(())
}
