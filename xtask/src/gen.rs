//! `cargo xtask gen`: writes the files that are generated from the source, or compares them with it (`--check`). The crate
//! with the source generates each of them, so that this program does not need the dependencies of those crates.

use crate::cargo::{cargo, succeed};

/// The package, the example in it that generates the file, and the path relative to the repository.
const GENERATED: [(&str, &str, &str); 2] =
    [("pullwright-api", "crds", "deploy/crds"), ("pullwright-findings", "page", "docs/findings.md")];

pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    if !matches!(arguments, [] | ["--check"]) {
        return Err("usage: cargo xtask gen [--check]".to_owned());
    }
    for (package, example, path) in GENERATED {
        let mut command = cargo(&["run", "--quiet", "--package", package, "--example", example, "--", path]);
        succeed(command.args(arguments))?;
    }
    Ok(true)
}
