//! A file that is being written. Nobody looks for it under its temporary name, and it is removed unless it is moved
//! away.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::io::Errno;

use crate::folder::PrivateFolder;
use crate::name;

/// A complete file in the folder, under a name that no runtime looks for.
pub(crate) struct Temporary<'a> {
    folder: &'a PrivateFolder,
    name: String,
    moved: bool,
}

impl<'a> Temporary<'a> {
    /// Writes `content` to a new file (0600).
    ///
    /// The file is not synced to disk: it lives for seconds, and a sync would cost each pull more than everything else
    /// together. After a power cut, a leftover file is old enough for the next plugin to sweep it.
    pub(crate) fn write(folder: &'a PrivateFolder, content: &[u8]) -> std::io::Result<Self> {
        let name = name::temporary()?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
        let fd = openat(folder, &name, flags, Mode::RUSR | Mode::WUSR)?;
        // From here on, dropping `temporary` removes the file if anything fails.
        let temporary = Self { folder, name, moved: false };
        File::from(fd).write_all(content)?;
        Ok(temporary)
    }

    /// Renames the file to `name`, replacing what is there. With `NOREPLACE`, fails with [`Errno::EXIST`] if something
    /// is there.
    pub(crate) fn move_to(&mut self, name: &str, flags: RenameFlags) -> Result<(), Errno> {
        renameat_with(self.folder, &self.name, self.folder, name, flags)?;
        self.moved = true;
        Ok(())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path_of(&self.name)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.moved {
            // If this fails, the sweeper removes the file later.
            let _ = self.folder.remove(&self.name);
        }
    }
}
