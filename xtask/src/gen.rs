//! `cargo xtask gen`: writes the files that are made from the source, or compares them with it (`--check`). The crate that has the
//! source makes each of them, so that this program does not need what those crates need.

use crate::cargo::{cargo, succeed};

/// The package and its example that writes something, and where, from the top of the repository.
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
