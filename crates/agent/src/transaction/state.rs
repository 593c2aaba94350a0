//! The agent's state on the node: the journal, the originals, and the contents that a switch needs.
//!
//! ```text
//! /var/lib/pullwright/          0700, locked by the agent at work
//!     journal.json              replaced as a whole
//!     original/<sha256>         what files were before us; kept until they are that again
//!     contents/<sha256>         what the current switch needs, both ways
//! ```
//!
//! A content has its name only once it is whole and on disk.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write as _};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, Dir, FlockOperation, Mode, OFlags, fchmod, flock, fstat, fsync, mkdirat, openat, renameat,
    statat, unlinkat,
};
use rustix::io::Errno;

use super::error::Error;
use super::file::{Digest, copy};
use super::journal::Journal;
use super::path::STATE;
use super::root::HostRoot;

const JOURNAL: &str = "journal.json";
const NEW_JOURNAL: &str = "journal.json.new";
/// What a content is called until it is whole. One agent at a time writes one at a time.
const NEW_CONTENT: &str = "new";
/// How often an agent that waits looks whether it is alone.
const LOOK: Duration = Duration::from_millis(20);

/// The state folder, locked for as long as this lives.
#[derive(Debug)]
pub(crate) struct StateFolder {
    fd: OwnedFd,
    /// The folder that it is in.
    above: OwnedFd,
    originals: Contents,
    contents: Contents,
}

/// A folder of contents, each named by its digest.
#[derive(Debug)]
pub(crate) struct Contents {
    fd: OwnedFd,
    name: &'static str,
}

impl StateFolder {
    /// Opens the folder and reads the journal. Makes both if they are missing. Waits for another agent for at most `wait`.
    pub(crate) fn open(root: &HostRoot, wait: Duration) -> Result<(Self, Journal), Error> {
        let (fd, above) = lock(root, Instant::now() + wait)?;
        let journal = read_journal(&fd)?;
        let originals = Contents::open(&fd, "original")?;
        let contents = Contents::open(&fd, "contents")?;
        let state = Self { fd, above, originals, contents };
        let journal = match journal {
            Some(journal) => journal,
            None if state.originals.names()?.iter().any(|name| name != NEW_CONTENT) => {
                return Err(Error::NoJournal);
            }
            None => {
                let journal = Journal::new();
                state.write_journal(&journal)?;
                state.settle()?;
                journal
            }
        };
        Ok((state, journal))
    }

    /// Replaces the journal. It has its new content when this returns, but only after [`Self::settle`] for good.
    pub(crate) fn write_journal(&self, journal: &Journal) -> Result<(), Error> {
        let text = journal.to_json()?;
        let written = || {
            let mut file = create(&self.fd, NEW_JOURNAL)?;
            file.write_all(&text)?;
            fsync(&file)?;
            renameat(&self.fd, NEW_JOURNAL, &self.fd, JOURNAL)?;
            Ok(())
        };
        written().map_err(|error: io::Error| {
            // It takes up space, maybe the last.
            let _ = unlinkat(&self.fd, NEW_JOURNAL, AtFlags::empty());
            Error::state("write", JOURNAL)(error)
        })
    }

    /// Waits until the journal is on disk under its name.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        fsync(&self.fd).map_err(Error::state("write", JOURNAL))
    }

    pub(crate) fn originals(&self) -> &Contents {
        &self.originals
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    pub(crate) fn has(&self, digest: &Digest) -> bool {
        self.contents.has(digest) || self.originals.has(digest)
    }

    /// Opens a content that was kept, and says where it is.
    pub(crate) fn content(&self, digest: &Digest) -> Result<(File, String), Error> {
        let from = if self.contents.has(digest) { &self.contents } else { &self.originals };
        let file = format!("{}/{digest}", from.name);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&from.fd, digest.as_str(), flags, Mode::empty()) {
            Ok(fd) => Ok((File::from(fd), file)),
            Err(errno) => Err(Error::state("open", &file)(errno)),
        }
    }

    /// Removes the contents that the journal does not need, and a journal that a killed run did not finish.
    pub(crate) fn prune(&self, journal: &Journal) -> Result<(), Error> {
        self.contents.keep_only(&journal.contents())?;
        self.originals.keep_only(&journal.originals())?;
        self.remove_entry(NEW_JOURNAL, AtFlags::empty())
    }

    fn remove_entry(&self, name: &str, flags: AtFlags) -> Result<(), Error> {
        match unlinkat(&self.fd, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(Error::state("remove", name)(errno)),
        }
    }

    /// Removes the folder with everything in it. The journal goes last, so that a folder without one has nothing in it.
    pub(crate) fn remove(self) -> Result<(), Error> {
        let empty = Journal::new();
        self.write_journal(&empty)?;
        self.settle()?;
        self.prune(&empty)?;
        self.remove_entry(self.contents.name, AtFlags::REMOVEDIR)?;
        self.remove_entry(self.originals.name, AtFlags::REMOVEDIR)?;
        self.remove_entry(JOURNAL, AtFlags::empty())?;
        let (_, name) = split();
        match unlinkat(&self.above, name, AtFlags::REMOVEDIR) {
            // A mount of its own stays, empty.
            Ok(()) | Err(Errno::BUSY | Errno::NOTDIR) => {}
            Err(errno) => return Err(Error::state("remove", "")(errno)),
        }
        fsync(&self.above).map_err(Error::state("remove", ""))
    }
}

impl Contents {
    fn open(state: &OwnedFd, name: &'static str) -> Result<Self, Error> {
        let opened = || {
            match mkdirat(state, name, Mode::RWXU) {
                // Writing the journal syncs the folder that they are in.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(state, name, flags, Mode::empty())
        };
        opened().map(|fd| Self { fd, name }).map_err(Error::state("open", name))
    }

    fn has(&self, digest: &Digest) -> bool {
        statat(&self.fd, digest.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Keeps what `from` has; whether that is what `digest` says. It is there for good after [`Self::settle`].
    pub(crate) fn keep(&self, digest: &Digest, from: &mut impl Read) -> Result<bool, Error> {
        if self.has(digest) {
            return Ok(true);
        }
        let mut kept = || {
            let mut file = create(&self.fd, NEW_CONTENT)?;
            if copy(from, &mut file)? != *digest {
                return Ok(false);
            }
            fsync(&file)?;
            renameat(&self.fd, NEW_CONTENT, &self.fd, digest.as_str())?;
            Ok(true)
        };
        kept().map_err(|error: io::Error| Error::state("write", &format!("{}/{digest}", self.name))(error))
    }

    pub(crate) fn settle(&self) -> Result<(), Error> {
        fsync(&self.fd).map_err(Error::state("write", self.name))
    }

    fn keep_only(&self, digests: &BTreeSet<&Digest>) -> Result<(), Error> {
        let kept: BTreeSet<_> = digests.iter().map(|digest| digest.as_str()).collect();
        for name in self.names()?.iter().filter(|name| !kept.contains(name.as_str())) {
            unlinkat(&self.fd, name, AtFlags::empty())
                .map_err(Error::state("remove", &format!("{}/{name}", self.name)))?;
        }
        Ok(())
    }

    /// The names in the folder; all that we give are UTF-8.
    fn names(&self) -> Result<Vec<String>, Error> {
        let names = || {
            let mut names = Vec::new();
            for entry in Dir::read_from(&self.fd)? {
                let name = entry?.file_name().to_string_lossy().into_owned();
                if !matches!(name.as_str(), "." | "..") {
                    names.push(name);
                }
            }
            Ok::<_, Errno>(names)
        };
        names().map_err(Error::state("list", self.name))
    }
}

/// The state folder once nobody else works in it, and the folder that it is in.
fn lock(root: &HostRoot, deadline: Instant) -> Result<(OwnedFd, OwnedFd), Error> {
    loop {
        let (fd, above) = make(root)?;
        loop {
            match flock(&fd, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK) if Instant::now() >= deadline => return Err(Error::Busy),
                Err(Errno::WOULDBLOCK) => std::thread::sleep(LOOK),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::state("lock", "")(errno)),
            }
        }
        // The one that we waited for may have removed the folder.
        let same = |other: OwnedFd| {
            let (ours, other) = (fstat(&fd)?, fstat(other)?);
            Ok((ours.st_dev, ours.st_ino) == (other.st_dev, other.st_ino))
        };
        match root.folder(STATE).and_then(same) {
            Ok(true) => return Ok((fd, above)),
            Ok(false) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(Error::state("open", "")(errno)),
        }
    }
}

fn make(root: &HostRoot) -> Result<(OwnedFd, OwnedFd), Error> {
    let (folder, name) = split();
    let above = match root.folder(folder) {
        Ok(above) => above,
        Err(Errno::NOENT) => return Err(Error::NotANode { root: root.shown().to_owned() }),
        Err(errno) => return Err(Error::io("open", folder)(errno)),
    };
    let made = || {
        match root.folder(STATE) {
            Err(Errno::NOENT) => match mkdirat(&above, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => Ok(root.folder(STATE)?),
                Err(errno) => Err(errno.into()),
            },
            opened => Ok(opened?),
        }
        .and_then(|fd: OwnedFd| {
            let stat = fstat(&fd)?;
            if stat.st_uid != rustix::process::geteuid().as_raw() {
                return Err(io::Error::new(ErrorKind::PermissionDenied, "it belongs to another user"));
            }
            // The kubelet makes folders for mounts with 0755, and contents may be secret.
            if stat.st_mode & 0o7777 != 0o700 {
                fchmod(&fd, Mode::RWXU)?;
            }
            // Also if a killed run made it: after a power cut, files of ours without a journal would be nobody's.
            fsync(&above)?;
            Ok(fd)
        })
    };
    let fd = made().map_err(Error::state::<io::Error>("open", ""))?;
    Ok((fd, above))
}

/// The folder of the state folder, and its name in there.
fn split() -> (&'static str, &'static str) {
    STATE.rsplit_once('/').unwrap_or(("/", STATE))
}

fn read_journal(fd: &OwnedFd) -> Result<Option<Journal>, Error> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = match openat(fd, JOURNAL, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(Error::state("open", JOURNAL)(errno)),
    };
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(Error::state("read", JOURNAL))?;
    Journal::parse(&text).map(Some)
}

/// A new, empty file for us alone, in place of what a killed run left.
fn create(folder: &OwnedFd, name: &str) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?))
}
