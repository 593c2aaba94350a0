//! Finds the real programs on this machine.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::Error;

/// The variable for folders with programs that no package installs here (CRI-O, the Go plugin); searched first.
pub const OWN_FOLDER: &str = "TEST_NODE_BIN";
/// The variable for the folders with Go programs built by `cargo xtask`, separated by colons.
pub const BUILT_FOLDERS: &str = "PULLWRIGHT_PROGRAMS";
/// The folders that distributions use but an ordinary user's `PATH` leaves out.
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

/// The folders where cargo puts the workspace's own programs: the one of this program, or its parent if this is a test.
fn built_beside() -> Vec<PathBuf> {
    let this = env::current_exe().unwrap_or_default();
    this.ancestors().skip(1).take(2).map(Path::to_owned).collect()
}

/// Returns the path of a program: built by the same cargo, or in the search path.
pub fn find(program: &str) -> Result<PathBuf, Error> {
    let searched = search_path();
    // The workspace's own programs come first: an installed one may be old.
    let folders = built_beside().into_iter().chain(searched.split(':').map(PathBuf::from));
    let found = folders.map(|folder| folder.join(program)).find(|path| path.is_file());
    found.ok_or_else(|| Error::NoProgram { program: program.to_owned(), searched })
}
