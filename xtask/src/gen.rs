//! `cargo xtask gen`: the files that are made from the source, written or compared. The types' own crate makes them, so that
//! this program does not need what they need.

use crate::cargo::{cargo, succeed};

/// Where the definitions are kept, from the top of the repository.
const CRDS: &str = "deploy/crds";

pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    if !matches!(arguments, [] | ["--check"]) {
        return Err("usage: cargo xtask gen [--check]".to_owned());
    }
    let mut command =
        cargo(&["run", "--quiet", "--package", "pullwright-api", "--example", "crds", "--", CRDS]);
    succeed(command.args(arguments))?;
    Ok(true)
}
