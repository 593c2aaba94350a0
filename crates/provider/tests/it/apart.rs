//! What was handed over for one pull does not make another pull of that image one without credentials.

use std::fs;
use std::time::Instant;

use crate::inputs::{request, token};
use crate::plugin::Ran;
use crate::stage::{IMAGE, NAMESPACE, Stage};

/// A node on which a file was handed over and nobody took it; since then there is no Secret any more.
fn with_a_leftover() -> Stage {
    let stage = Stage::with_secret_on_the_node();
    assert!(stage.plugin_with_folder().ask().answered().1.starts_with("Wrote auth file to "));
    fs::remove_file(stage.path("secrets/pull.json")).unwrap();
    assert_eq!(stage.left().len(), 1);
    stage
}

/// The answer says for whom the pull is, and gives nothing.
fn is_kept_apart(ran: &Ran) {
    let (response, line) = ran.answered();
    let entries: Vec<_> =
        response.auth.iter().map(|(image, auth)| (image.as_str(), &*auth.username)).collect();
    assert_eq!(entries, [(IMAGE, "")], "{ran:?}");
    assert!(line.contains("this service account's alone"), "{line}");
}

#[test]
fn a_run_without_a_credential_removes_the_leftover_and_says_whose_pull_it_is() {
    let stage = with_a_leftover();
    let begun = Instant::now();
    is_kept_apart(&stage.plugin_with_folder().ask());
    assert!(begun.elapsed().as_millis() >= 300, "it was given no time to be taken");
    assert_eq!(stage.left(), [""; 0]);
    // And every later one, for as long as the node runs.
    is_kept_apart(&stage.plugin_with_folder().ask());
}

#[test]
fn so_does_a_run_that_fails() {
    let stage = with_a_leftover();
    let ran = stage
        .plugin()
        .args(&["--server", "https://127.0.0.1:1", "--certificate-authority", "/nowhere"])
        .ask();
    is_kept_apart(&ran);
    assert!(ran.line().contains("/nowhere"), "it says why: {}", ran.line());
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn so_does_a_run_that_finds_no_mirrors_any_more() {
    let stage = with_a_leftover();
    stage.write("registries.conf", "");
    is_kept_apart(&stage.plugin_with_folder().ask());
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn other_namespaces_and_images_stay_as_they_are() {
    let stage = with_a_leftover();
    let line = "None of 0 secret(s) of the namespace fits, will not write any auth file";
    stage.plugin_with_folder().run(request(&token("team-b"))).answered_nothing(line);
    let other = request(&token(NAMESPACE)).replace(IMAGE, "docker.io/library/redis");
    stage.plugin_with_folder().run(other).answered_nothing(line);
    assert_eq!(stage.left().len(), 1);
}

#[test]
fn without_a_record_to_keep_nothing_is_said_and_nothing_removed() {
    let stage = with_a_leftover();
    let ran = stage.plugin_with_folder().arg("--no-pull-record").ask();
    assert!(ran.answered().0.auth.is_empty());
    assert_eq!(stage.left().len(), 1);
}

#[test]
fn a_node_that_hands_nothing_over_is_left_as_it_is() {
    let stage = Stage::new();
    let ran = stage.plugin_with_folder().ask();
    assert!(ran.answered().0.auth.is_empty());
    assert!(!stage.auth_dir().exists() && !stage.path("locks").exists());
}

#[test]
fn a_leftover_from_before_a_reboot_is_removed_and_the_pull_is_this_accounts() {
    let stage = with_a_leftover();
    // The lock folder, and the table in it, is in memory; the auth folder is on the disk.
    fs::remove_dir_all(stage.path("locks")).unwrap();
    is_kept_apart(&stage.plugin_with_folder().ask());
    assert_eq!(stage.left(), [""; 0]);
}

/// What cannot be read is not taken for "never": that would open the image to everybody.
#[test]
fn where_nobody_can_tell_it_counts_as_handed_over() {
    let stage = with_a_leftover();
    let tables = fs::read_dir(stage.path("locks")).unwrap().map(|entry| entry.unwrap().path());
    let table = tables.filter(|path| path.to_string_lossy().ends_with("-handed-over")).last().unwrap();
    fs::remove_file(&table).unwrap();
    fs::create_dir(&table).unwrap();
    is_kept_apart(&stage.plugin_with_folder().ask());
    assert_eq!(stage.left(), [""; 0]);
}
