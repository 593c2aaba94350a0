//! Colours, broken pipes, and what goes to which stream.

use std::process::Stdio;

use crate::program::command;

const EXPLAIN: [&str; 4] = ["explain", "nginx", "--root", "examples/node"];

#[test]
fn only_a_terminal_gets_colours() {
    let piped = command(&EXPLAIN).output().unwrap();
    assert!(!piped.stdout.contains(&0x1b));
    let forced = command(&EXPLAIN).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(forced.stdout.contains(&0x1b));
    let refused = command(&EXPLAIN).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").output().unwrap();
    assert!(!refused.stdout.contains(&0x1b));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = command(&EXPLAIN).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stderr, b"");
}

#[test]
fn a_full_disk_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(&EXPLAIN).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("writing the answer"));
}

#[test]
fn help_version_completions_and_the_manual_are_answers() {
    for (arguments, word) in [
        (&["--help"][..], "Exit codes"),
        (&["--version"], env!("CARGO_PKG_VERSION")),
        (&["completions", "bash"], "complete -F"),
        (&["completions", "zsh"], "#compdef pullwright"),
        (&["man"], ".TH pullwright"),
    ] {
        let output = command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(word), "{arguments:?}");
    }
}

#[test]
fn wrong_usage_is_an_exit_code_of_its_own() {
    for arguments in [
        &[][..],
        &["explain"],
        &["explain", "nginx", "-o", "xml"],
        &["lint"],
        &["lint", "--as", "registries"],
        &["render"],
        &["render", "examples/mirror-sets", "--for", "docker"],
        &["render", "examples/mirror-sets", "--root", "examples/node"],
        &["render", "examples/mirror-sets", "--force"],
        &["diff"],
        &["diff", "--root", "examples/node"],
        &["status", "everything"],
        &["status", "-o", "xml"],
        &["status", "--kubeconfig"],
    ] {
        assert_eq!(command(arguments).output().unwrap().status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn manifests_come_from_standard_input_too() {
    let arguments = ["lint", "-", "--as", "manifests"];
    let file = std::fs::File::open(crate::program::testdata("lint/the-value-is-not-base64.yaml")).unwrap();
    let output = command(&arguments).stdin(file).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("-:6:22"));
}
