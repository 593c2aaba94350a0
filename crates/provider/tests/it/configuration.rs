//! The node's own files: `registries.conf` with its drop-ins, and the global auth file.

use std::fs;

use crate::inputs::{auths, manifest};
use crate::stage::{IMAGE, MIRROR, MIRRORED, Stage};

const NO_MIRRORS: &str = "No mirrors found, will not write any auth file";

#[test]
fn a_broken_registries_conf_is_named_and_nothing_is_written() {
    for (text, said) in [
        ("[[registry]]\nlocation = \"docker.io", "registries.conf"),
        ("[[registry]]\nlocation = 7\n", "registries.conf"),
        ("[registries.search]\nregistries = [\"a\"]\n[[registry]]\nlocation = \"b\"\n", "registries.conf"),
    ] {
        let stage = Stage::with_secret_on_the_node();
        stage.write("registries.conf", text);
        let ran = stage.plugin_with_folder().ask();
        let failed = ran.failed();
        assert!(failed.starts_with("loading registries configuration "), "{failed}");
        assert!(failed.contains(said), "{failed}");
        assert_eq!(stage.left(), [""; 0]);
    }
}

#[test]
fn a_broken_drop_in_is_the_one_that_is_named() {
    let stage = Stage::with_secret_on_the_node();
    stage.write("registries.conf.d/50-mine.conf", "[[");
    let ran = stage.plugin_with_folder().ask();
    assert!(ran.failed().contains("registries.conf.d/50-mine.conf"), "{ran:?}");
}

#[test]
fn a_registries_conf_that_was_named_must_be_there() {
    let stage = Stage::with_secret_on_the_node();
    fs::remove_file(stage.path("registries.conf")).unwrap();
    let ran = stage.plugin_with_folder().ask();
    let failed = ran.failed();
    assert!(failed.starts_with("reading registries configuration "), "{failed}");
    assert!(failed.contains("No such file"), "{failed}");
}

#[test]
fn without_mirrors_there_is_nothing_to_do() {
    let stage = Stage::with_secret_on_the_node();
    stage.write("registries.conf", "");
    stage.plugin_with_folder().ask().answered_nothing(NO_MIRRORS);
    // And nobody is asked for Secrets, so that no API server needs to be known.
    stage.plugin().ask().answered_nothing(NO_MIRRORS);
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn mirrors_may_be_in_drop_ins_only() {
    let stage = Stage::with_secret_on_the_node();
    fs::rename(stage.path("registries.conf"), stage.path("registries.conf.d/mirrors.conf")).unwrap();
    stage.write("registries.conf", "");
    assert!(stage.plugin_with_folder().ask().answered().1.starts_with("Wrote auth file to "));
    assert_eq!(stage.users_for(&[MIRRORED]), [Some("puller".to_owned())]);
}

#[test]
fn a_location_without_mirrors_is_elsewhere_too() {
    let stage = Stage::new();
    stage.write(
        "registries.conf",
        "[[registry]]\nprefix = \"docker.io/library\"\nlocation = \"mirror.example:5000/hub\"\n",
    );
    stage.write("secrets/pull.json", &manifest("pull", &auths(&[("mirror.example:5000/hub", "puller")])));
    assert!(stage.plugin_with_folder().ask().answered().1.starts_with("Wrote auth file to "));
    assert_eq!(stage.users_for(&["mirror.example:5000/hub/nginx"]), [Some("puller".to_owned())]);
}

/// Nobody asks what is blocked, so a credential for it has no business on the disk.
#[test]
fn a_blocked_registry_gets_no_credential() {
    let stage = Stage::new();
    stage.write(
        "registries.conf",
        "[[registry]]\nlocation = \"docker.io\"\nblocked = true\n[[registry.mirror]]\nlocation = \"mirror.example:5000\"\n",
    );
    let both = auths(&[("docker.io", "hub"), (MIRROR, "puller")]);
    stage.write("secrets/pull.json", &manifest("pull", &both));
    let ran = stage.plugin_with_folder().ask();
    assert!(ran.answered().1.ends_with(" with 1 number of entries"), "{ran:?}");
    assert_eq!(stage.users_for(&[MIRRORED, IMAGE]), [Some("puller".to_owned()), None]);
}

#[test]
fn the_global_file_serves_what_the_namespace_does_not() {
    let stage = Stage::with_secret_on_the_node();
    stage.write("config.json", &auths(&[("docker.io", "node"), ("mirror.example:5000/library", "node")]));
    assert!(stage.plugin_with_folder().ask().answered().1.ends_with(" with 1 number of entries"));
    let users = ["puller", "node"].map(|user| Some(user.to_owned()));
    assert_eq!(stage.users_for(&[MIRRORED, IMAGE]), users);
}

#[test]
fn a_broken_global_file_costs_nobody_their_pull() {
    let stage = Stage::with_secret_on_the_node();
    stage.write("config.json", "{\"auths\": [\"canary-password\"]}");
    assert!(stage.plugin_with_folder().ask().answered().1.starts_with("Wrote auth file to "));
    assert_eq!(stage.users_for(&[MIRRORED]), [Some("puller".to_owned())]);
}

/// A pull that the global file serves alone needs no file of ours: with one, the runtime would not look at the global one.
#[test]
fn the_global_file_alone_is_no_reason_to_write() {
    let stage = Stage::new();
    stage.write("config.json", &auths(&[(MIRROR, "node")]));
    let none = "None of 0 secret(s) of the namespace fits, will not write any auth file";
    stage.plugin_with_folder().ask().answered_nothing(none);
    assert_eq!(stage.left(), [""; 0]);
}
