//! `cargo xtask oracle`: builds the Go program that asks the real libraries and compares the engine with it.

use std::path::PathBuf;
use std::process::Command;

use crate::cargo::{cache, cargo, has, succeed, test, workspace};
use crate::tier::Outcome;

pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    let program = build()?;
    Ok(matches!(test(&mut compare(&program, arguments)), Outcome::Passed { .. }))
}

/// How many sets of mirror objects the tier merges: what the API promises for them is a statement of ours, so the
/// comparison with the library is worth as much as there are cases.
const MIRROR_SETS: &str = "100000";

/// The comparison as a tier of the tests.
pub(crate) fn tier(cases: u64) -> Outcome {
    if !has("go") {
        return Outcome::NotRun { why: "needs go (a Go toolchain) on PATH".to_owned() };
    }
    let program = match build() {
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

/// Builds the Go program into the cache; Go itself knows whether there is anything to do.
pub(crate) fn build() -> Result<PathBuf, String> {
    let program = cache().join("oracle");
    println!("building the Go oracle (some minutes the first time)");
    let mut go = Command::new("go");
    go.args(["build", "-trimpath", "-o"]).arg(&program).arg(".").current_dir(workspace().join("oracle"));
    succeed(go.env("CGO_ENABLED", "0")).map(|()| program)
}

fn compare(program: &std::path::Path, arguments: &[&str]) -> Command {
    let mut command =
        cargo(&["run", "--release", "--quiet", "--package", "pullwright-oracle", "--", "compare"]);
    command.arg("--oracle").arg(program).args(arguments);
    command
}
