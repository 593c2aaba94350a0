//! Runs cargo and other programs: shows the output as it comes, and reads the test counts from it.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::tier::Outcome;

/// The root of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// The folder for cargo's build output.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace().join("target"), |path| workspace().join(path))
}

/// The folder that keeps built programs between runs, outside of the source tree.
pub(crate) fn cache() -> PathBuf {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    base.or_else(home).unwrap_or_else(std::env::temp_dir).join("pullwright")
}

/// Returns `cargo` with these arguments, in the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(workspace());
    command
}

/// Whether a program is in `PATH`.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Runs a command that only succeeds or fails.
pub(crate) fn check(command: &mut Command) -> Outcome {
    match succeed(command) {
        Ok(()) => Outcome::Passed { tests: None },
        Err(why) => Outcome::Failed { why },
    }
}

/// Runs a command to its end.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    let shown = shown(command);
    println!("$ {shown}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown}: {status}")),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

/// Runs a command that prints the summary lines of Rust's test harness, and adds up the passed tests.
pub(crate) fn test(command: &mut Command) -> Outcome {
    let shown = shown(command);
    println!("$ {shown}");
    let mut child = match command.stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            return Outcome::Failed { why: format!("{shown}: {error}") };
        }
    };
    let mut passed = 0;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            println!("{line}");
            passed += passed_in(&line).unwrap_or(0);
        }
    }
    ended(&shown, child.wait(), passed)
}

/// Returns the outcome of tests that ended with this status, of which `passed` passed.
pub(crate) fn ended(shown: &str, ended: io::Result<ExitStatus>, passed: u64) -> Outcome {
    match ended {
        Ok(status) if !status.success() => Outcome::Failed { why: format!("{shown}: {status}") },
        Ok(_) if passed == 0 => Outcome::Failed { why: format!("{shown}: no test ran") },
        Ok(_) => Outcome::Passed { tests: Some(passed) },
        Err(error) => Outcome::Failed { why: format!("{shown}: {error}") },
    }
}

/// Returns the count in `test result: ok. 12 passed; 0 failed; …` or in `12 passed, 0 failed`.
pub(crate) fn passed_in(line: &str) -> Option<u64> {
    let counts = line.strip_prefix("test result: ok. ").unwrap_or(line);
    counts.split_once(" passed")?.0.parse().ok()
}

/// A command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::passed_in;

    #[test]
    fn counts_are_read_from_closing_lines_only() {
        assert_eq!(passed_in("test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured"), Some(12));
        assert_eq!(passed_in("200000 passed, 0 failed"), Some(200_000));
        assert_eq!(passed_in("test result: FAILED. 1 passed; 1 failed"), None);
        assert_eq!(passed_in("the wall was passed"), None);
    }
}
