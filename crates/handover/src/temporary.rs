//! A file that is being written: nobody looks for it under its name, and it is removed unless it is moved away.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::io::Errno;

use crate::folder::PrivateFolder;
use crate::name;

/// The whole content, in the folder, under a name that no runtime looks for.
pub(crate) struct Temporary<'a> {
    folder: &'a PrivateFolder,
    name: String,
    moved: bool,
}

impl<'a> Temporary<'a> {
    /// Writes `content` to a new file (0600).
    ///
    /// It is not synced to the disk: its life is seconds, and a sync would cost each pull more than all the rest.
    /// After a power cut what lies there has stood long enough to be swept by the next plugin.
    pub(crate) fn write(folder: &'a PrivateFolder, content: &[u8]) -> std::io::Result<Self> {
        let name = name::temporary()?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
        let fd = openat(folder, &name, flags, Mode::RUSR | Mode::WUSR)?;
        // From here on, whatever fails, dropping removes the file.
        let temporary = Self { folder, name, moved: false };
        File::from(fd).write_all(content)?;
        Ok(temporary)
    }

    /// Moves it to `name`: over what stands there, or with `NOREPLACE` unless something does; then [`Errno::EXIST`].
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
            // If it cannot be removed now, it is the sweeper's.
            let _ = self.folder.remove(&self.name);
        }
    }
}
