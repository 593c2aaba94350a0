//! The console of a node: what systemd and units without a log of their own write there goes to a log.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::{fd::OwnedFd, unix::ffi::OsStringExt as _},
    path::{Path, PathBuf},
    thread,
};

use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

use crate::{Error, error::Doing as _};

/// A terminal whose output goes to a file.
#[derive(Debug)]
pub(super) struct Console {
    /// The path of the terminal.
    pub(super) path: PathBuf,
    /// Keeps the terminal from being hung up while nobody writes to it.
    _held: OwnedFd,
}

impl Console {
    /// Opens a terminal and copies what is written to it to `log`, as long as this process runs.
    pub(super) fn open(log: &Path) -> Result<Self, Error> {
        let (master, path) = pair().map_err(Into::into).doing("opening", Path::new("/dev/ptmx"))?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let held = open(&path, flags, Mode::empty()).map_err(Into::into).doing("opening", &path)?;
        let mut log = File::options().create(true).append(true).open(log).doing("opening", log)?;
        let mut master = File::from(master);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = master.read(&mut buffer) {
                let _ = log.write_all(&buffer[..length]);
            }
        });
        Ok(Self { path, _held: held })
    }
}

fn pair() -> rustix::io::Result<(OwnedFd, PathBuf)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    Ok((master, PathBuf::from(std::ffi::OsString::from_vec(name.into_bytes()))))
}
