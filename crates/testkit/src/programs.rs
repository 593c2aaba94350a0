//! Where the real programs are on this machine.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::Error;

/// Names folders with programs that no package installs here (CRI-O, the Go plugin); searched first.
pub const OWN_FOLDER: &str = "TEST_NODE_BIN";
/// The folders `cargo xtask` has built Go programs into, separated by colons.
pub const BUILT_FOLDERS: &str = "PULLWRIGHT_PROGRAMS";
/// Where distributions put what an ordinary user's `PATH` leaves out.
const SYSTEM_FOLDERS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The search path: [`OWN_FOLDER`], [`BUILT_FOLDERS`], `PATH`, and the system's folders.
#[must_use]
pub fn search_path() -> String {
    [OWN_FOLDER, BUILT_FOLDERS, "PATH"]
        .iter()
        .filter_map(|name| env::var(name).ok())
        .filter(|value| !value.is_empty())
        .chain([SYSTEM_FOLDERS.to_owned()])
        .collect::<Vec<_>>()
        .join(":")
}

/// The path of a program.
pub fn find(program: &str) -> Result<PathBuf, Error> {
    let searched = search_path();
    let found = searched.split(':').map(|folder| Path::new(folder).join(program)).find(|path| path.is_file());
    found.ok_or_else(|| Error::NoProgram { program: program.to_owned(), searched })
}
