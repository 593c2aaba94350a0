//! `cargo xtask oracle`: builds the Go program that runs the real libraries, and compares the engine with it.

use std::path::PathBuf;
use std::process::Command;

use crate::cargo::{cache, cargo, succeed, test, workspace};
use crate::go::Go;
use crate::tier::Outcome;

pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    let program = ensure()?;
    Ok(matches!(test(&mut compare(&program, arguments)), Outcome::Passed { .. }))
}

/// The number of mirror set cases that the tier merges. The expected result is our own reading of the API, so the comparison
/// with the library is only as good as the number of cases.
const MIRROR_SETS: &str = "100000";

/// The comparison as a tier of the tests.
pub(crate) fn tier(cases: u64) -> Outcome {
    let go = match Go::ensure() {
        Ok(go) => go,
        Err(missing) => return missing.into(),
    };
    let program = match build(&go) {
        Ok(program) => program,
        Err(why) => return Outcome::Failed { why },
    };
    let all = test(&mut compare(&program, &["--cases", &cases.to_string()]));
    let Outcome::Passed { tests: Some(answers) } = all else { return all };
    match test(&mut compare(&program, &["--only", "mirror-sets", "--cases", MIRROR_SETS])) {
        Outcome::Passed { tests: Some(sets) } => Outcome::Passed { tests: Some(answers + sets) },
        other => other,
    }
}

/// Builds the Go program for callers that cannot do without it.
pub(crate) fn ensure() -> Result<PathBuf, String> {
    build(&Go::ensure().map_err(|missing| missing.to_string())?)
}

/// Builds the Go program into the cache; Go itself knows whether there is anything to do.
fn build(go: &Go) -> Result<PathBuf, String> {
    let program = cache().join("oracle");
    println!("building the Go oracle (some minutes the first time)");
    let mut command = go.command(&workspace().join("dev/oracle/go"));
    command.args(["build", "-trimpath", "-o"]).arg(&program).arg(".");
    succeed(command.env("CGO_ENABLED", "0")).map(|()| program)
}

fn compare(program: &std::path::Path, arguments: &[&str]) -> Command {
    let mut command =
        cargo(&["run", "--release", "--quiet", "--package", "pullwright-oracle", "--", "compare"]);
    command.arg("--oracle").arg(program).args(arguments);
    command
}
