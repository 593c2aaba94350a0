//! The tier that checks our dependencies: licences, duplicate versions, forbidden crates and where each comes from.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::{cache, cargo, check, succeed};
use crate::machine::Missing;
use crate::tier::Outcome;

/// The version of cargo-deny. The cache has a folder for each version.
const VERSION: &str = "0.20.2";

/// Checks the workspace against `deny.toml`. Advisories are left out: they need a database that changes every day, so the
/// test would fail on commits that did nothing wrong.
pub(crate) fn tier() -> Outcome {
    match ensure() {
        Ok(program) => {
            let mut command = std::process::Command::new(program);
            command.current_dir(crate::cargo::workspace());
            check(command.args(["--locked", "check", "bans", "licenses", "sources"]))
        }
        Err(missing) => missing.into(),
    }
}

/// Returns the program; builds it into the cache the first time.
fn ensure() -> Result<PathBuf, Missing> {
    let folder = cache().join("programs").join(format!("cargo-deny-{VERSION}"));
    let program = folder.join("bin/cargo-deny");
    if program.exists() {
        return Ok(program);
    }
    println!("building cargo-deny {VERSION} (once; takes minutes)");
    build(&folder).map_err(|why| Missing::new(format!("building cargo-deny {VERSION}: {why}")))?;
    Ok(program)
}

fn build(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let objects = folder.join("target");
    let root = folder.display().to_string();
    // Not optimised: it runs for a second, and already takes minutes to build.
    let mut command =
        cargo(&["install", "cargo-deny", "--version", VERSION, "--locked", "--debug", "--root", &root]);
    succeed(command.env("CARGO_TARGET_DIR", &objects).env("CARGO_PROFILE_DEV_DEBUG", "0"))?;
    fs::remove_dir_all(&objects).map_err(|error| error.to_string())
}
