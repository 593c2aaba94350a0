//! Runs the binary from the top of the repository, and compares with files that it can write itself.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The top of the repository, so that the paths in transcripts are those that a reader types.
pub(crate) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

pub(crate) fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pullwright"));
    command.args(arguments).current_dir(top()).env_clear();
    command
}

/// Runs the program with `text` on standard input.
pub(crate) fn piped(arguments: &[&str], text: &[u8]) -> Output {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    match child.stdin.take().unwrap().write_all(text) {
        // It refused before it read, and may.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        written => written.unwrap(),
    }
    child.wait_with_output().unwrap()
}

/// What a run printed, and its exit code, as a transcript shows them.
pub(crate) fn transcript(output: &Output) -> String {
    let mut text = String::from_utf8(output.stdout.clone()).unwrap();
    if !output.stderr.is_empty() {
        write!(text, "[stderr]\n{}", str::from_utf8(&output.stderr).unwrap()).unwrap();
    }
    writeln!(text, "[exit {}]", output.status.code().unwrap()).unwrap();
    text
}

/// The files of a folder, in order of their names.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Compares with a file; `PULLWRIGHT_BLESS=1` writes it instead. Returns what differs.
pub(crate) fn differs(file: &Path, actual: &str) -> Option<String> {
    if std::env::var_os("PULLWRIGHT_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(file, actual).unwrap();
        return None;
    }
    let expected = std::fs::read_to_string(file).unwrap_or_default();
    (expected != actual).then(|| {
        format!(
            "--- {} says\n{expected}--- but the program says\n{actual}",
            file.strip_prefix(top()).unwrap().display()
        )
    })
}
