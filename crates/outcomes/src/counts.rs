//! The agent's side: makes the folder, and turns sizes into counters that only grow.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, fstat, ftruncate, open, openat, statat};
use rustix::io::Errno;

use crate::Reason;

/// The size at which a file is emptied, long before the plugin stops.
const EMPTY_AT: u64 = 64 << 10;

/// How many runs ended for each reason. Runs that ended before this was made count too, as far as the files have them; a reboot
/// removes the files.
#[derive(Debug)]
pub struct Counts {
    folder: PathBuf,
    /// In the order of [`Reason::ALL`].
    seen: [Seen; Reason::ALL.len()],
}

/// What is known of one file.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    size: u64,
    total: u64,
}

impl Counts {
    /// Counts in this folder, from nothing. Reads nothing yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), seen: Default::default() }
    }

    /// Makes the folder if it is missing, so that plugins count from now on, and reads what they have counted. Empties files that
    /// become long: a run that ends in the same moment may then not be counted.
    ///
    /// # Errors
    /// If the folder cannot be made, is not ours, or the operating system refuses. What was read before is kept.
    pub fn refresh(&mut self) -> io::Result<()> {
        let folder = make(&self.folder)?;
        for (reason, seen) in Reason::ALL.into_iter().zip(&mut self.seen) {
            let size = size(&folder, reason)?;
            // A file that has shrunk was replaced, so all of it is new.
            seen.total += size.checked_sub(seen.size).unwrap_or(size);
            seen.size = size;
            if size >= EMPTY_AT {
                let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                ftruncate(openat(&folder, reason.name(), flags, Mode::empty())?, 0)?;
                seen.size = 0;
            }
        }
        Ok(())
    }

    /// How many runs ended for this reason, as of the last refresh.
    #[must_use]
    pub fn of(&self, reason: Reason) -> u64 {
        self.all().find(|(of, _)| *of == reason).map_or(0, |(_, total)| total)
    }

    /// The same for each reason.
    pub fn all(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.into_iter().zip(self.seen.map(|seen| seen.total))
    }
}

/// The size of a reason's file; 0 if there is none, or something else in its place.
fn size(folder: &OwnedFd, reason: Reason) -> io::Result<u64> {
    match statat(folder, reason.name(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
            Ok(u64::try_from(stat.st_size).unwrap_or(0))
        }
        Ok(_) | Err(Errno::NOENT) => Ok(0),
        Err(errno) => Err(errno.into()),
    }
}

/// The folder, for us alone: whoever can write into it can count what he likes.
fn make(path: &Path) -> io::Result<OwnedFd> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = open(path, flags, Mode::empty())?;
    let stat = fstat(&folder)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "the folder belongs to another user"));
    }
    if stat.st_mode & 0o7777 != 0o700 {
        fchmod(&folder, Mode::RWXU)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;
    use crate::{FILE_MAX, count};

    /// A folder as it is named on a node, in a place of the test's own.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("run/pullwright/outcomes");
        (root, folder)
    }

    #[test]
    fn each_run_is_counted_once_for_its_reason() {
        let (_root, folder) = place();
        let mut counts = Counts::new(&folder);
        count(&folder, Reason::Forbidden).unwrap();
        assert!(!folder.exists(), "nobody wants to know");
        counts.refresh().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| count(&folder, Reason::WroteFile).unwrap()));
            }
        });
        count(&folder, Reason::Forbidden).unwrap();
        assert_eq!(counts.of(Reason::WroteFile), 0, "not yet read");
        for _ in 0..2 {
            counts.refresh().unwrap();
            assert_eq!((counts.of(Reason::WroteFile), counts.of(Reason::Forbidden)), (400, 1));
        }
        assert_eq!(counts.all().map(|(_, total)| total).sum::<u64>(), 401);
        // The next agent begins with what is there.
        let mut next = Counts::new(&folder);
        next.refresh().unwrap();
        assert_eq!(next.of(Reason::WroteFile), 400);
    }

    #[test]
    fn counters_only_grow_whatever_happens_to_the_files() {
        let (_root, folder) = place();
        let mut counts = Counts::new(&folder);
        counts.refresh().unwrap();
        let file = folder.join("no-token");
        let size = || fs::metadata(&file).unwrap().len();
        fs::write(&file, vec![b'.'; 64 << 10]).unwrap();
        counts.refresh().unwrap();
        assert_eq!((counts.of(Reason::NoToken), size()), (64 << 10, 0));
        count(&folder, Reason::NoToken).unwrap();
        counts.refresh().unwrap();
        assert_eq!((counts.of(Reason::NoToken), size()), ((64 << 10) + 1, 1));
        fs::remove_dir_all(&folder).unwrap();
        counts.refresh().unwrap();
        count(&folder, Reason::NoToken).unwrap();
        counts.refresh().unwrap();
        assert_eq!(counts.of(Reason::NoToken), (64 << 10) + 2);
    }

    #[test]
    fn a_file_that_nobody_reads_ends() {
        let (_root, folder) = place();
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("answered");
        fs::write(&file, vec![b'.'; usize::try_from(FILE_MAX).unwrap() - 1]).unwrap();
        for _ in 0..3 {
            count(&folder, Reason::Answered).unwrap();
        }
        assert_eq!(fs::metadata(&file).unwrap().len(), FILE_MAX);
    }

    #[test]
    fn folder_and_files_are_for_us_alone() {
        let (_root, folder) = place();
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        Counts::new(&folder).refresh().unwrap();
        count(&folder, Reason::Answered).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        assert_eq!((mode(&folder), mode(&folder.join("answered"))), (0o700, 0o600));
    }

    #[test]
    fn links_and_pipes_are_neither_followed_nor_waited_for() {
        let (root, folder) = place();
        let mut counts = Counts::new(&folder);
        counts.refresh().unwrap();
        let elsewhere = root.path().join("elsewhere");
        fs::write(&elsewhere, "content").unwrap();
        symlink(&elsewhere, folder.join("answered")).unwrap();
        assert!(count(&folder, Reason::Answered).is_err());
        let pipe = folder.join("withheld");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(count(&folder, Reason::Withheld).is_err());
        counts.refresh().unwrap();
        assert_eq!(counts.all().map(|(_, total)| total).sum::<u64>(), 0);
        assert_eq!(fs::read_to_string(elsewhere).unwrap(), "content");
        // A folder that somebody else put there is not used.
        fs::rename(&folder, root.path().join("moved")).unwrap();
        symlink(root.path().join("moved"), &folder).unwrap();
        assert!(counts.refresh().is_err());
    }
}
