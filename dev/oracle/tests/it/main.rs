//! The program against stand-ins for the Go program: a comparison that cannot fail would prove nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A stand-in that gives the same answer to every line.
fn stand_in(name: &str, answer: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, format!("#!/bin/sh\nwhile read -r line; do echo '{answer}'; done\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn run(oracle: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, .. } = Command::new(env!("CARGO_BIN_EXE_pullwright-oracle"))
        .args([arguments[0], "--oracle"])
        .arg(oracle)
        .args(&arguments[1..])
        .output()
        .unwrap();
    (status.code(), String::from_utf8(stdout).unwrap())
}

#[test]
fn a_wrong_answer_is_found_made_small_and_printed_for_replay() {
    let agrees_with_everything = stand_in("yes", r#"[{"matches": true, "pattern_error": null}]"#);
    let compare = ["compare", "--only", "match", "--cases", "500", "--seed", "7", "--show", "1"];
    let (code, output) = run(&agrees_with_everything, &compare);
    assert_eq!(code, Some(1), "{output}");
    assert!(output.starts_with("seed 7\n"), "{output}");
    let case = output.lines().find_map(|line| line.strip_prefix("  replay  ")).unwrap();
    // Nothing is smaller than a pattern or an image of a character.
    assert!(case.len() < 80, "{case}");
    assert!(output.contains(" failed"), "{output}");

    assert_eq!(run(&agrees_with_everything, &["replay", case]).0, Some(1));
}

#[test]
fn an_intended_difference_that_is_none_any_more_is_a_failure() {
    // The engine says `<token>` where this stand-in, other than the kubelet, says the same.
    let answer = r#"[{"file_error": null, "entries": {"a.io": {"username": "<token>", "password": ""}}}]"#;
    let (code, output) =
        run(&stand_in("token", answer), &["compare", "--only", "secret", "--cases", "1", "--show", "0"]);
    assert_eq!(code, Some(1));
    assert!(output.contains("NOT A DIFFERENCE any more: an identity token alone"), "{output}");
}

#[test]
fn a_panic_of_the_library_is_a_difference() {
    let (code, output) =
        run(&stand_in("panic", r#"{"panic": "oh"}"#), &["compare", "--only", "match", "--cases", "2"]);
    assert_eq!(code, Some(1));
    assert!(output.contains(r#"{"panic":"oh"}"#), "{output}");
}

#[test]
fn an_answer_that_is_missing_is_a_difference() {
    for operation in ["match", "auth", "keyring", "registries", "handed-over", "mirror-sets"] {
        let compare = ["compare", "--only", operation, "--cases", "20", "--show", "0"];
        let (code, output) = run(&stand_in("nothing", "[]"), &compare);
        assert_eq!(code, Some(1), "{operation}: {output}");
    }
}

#[test]
fn a_program_that_is_not_there_is_neither_good_nor_bad() {
    let (code, _) = run(Path::new("/nowhere/oracle"), &["compare", "--cases", "1"]);
    assert_eq!(code, Some(2));
}
