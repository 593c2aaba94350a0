//! What the kubelet is told: for whom the pull is, and credentials where there is no auth folder.

use crate::inputs::{auths, manifest};
use crate::stage::{IMAGE, MIRROR, MIRRORED, PASSWORD, Stage};

#[test]
fn after_a_file_the_answer_says_for_whom_the_pull_is() {
    let stage = Stage::with_secret_on_the_node();
    let ran = stage.plugin_with_folder().ask();
    let (response, _) = ran.answered();
    let (image, nobody) = response.auth.first_key_value().expect("an entry");
    assert_eq!(
        (image.as_str(), nobody.username.as_str(), nobody.password.expose().as_str()),
        (IMAGE, "", "")
    );
    assert_eq!(response.auth.len(), 1);
}

#[test]
fn the_record_can_be_switched_off() {
    let stage = Stage::with_secret_on_the_node();
    let ran = stage.plugin_with_folder().arg("--no-pull-record").ask();
    assert!(ran.answered().0.auth.is_empty());
    assert_eq!(stage.users_for(&[MIRRORED]), [Some("puller".to_owned())]);
}

/// The image's own registry would be shown the mirror's credential.
#[test]
fn an_answer_is_withheld_if_another_host_would_see_it() {
    let stage = Stage::with_secret_on_the_node();
    let ran = stage.plugin_with_folder().args(&["--deliver", "answer"]).ask();
    // A fault, so that the kubelet's log says why the pull fails.
    assert_eq!(
        ran.failed(),
        "not answered: the runtime may also show the credential to docker.io, for which it was not written; \
         --answer-credentials-to-every-host-of-the-pull allows that"
    );
    assert_eq!(stage.left(), [""; 0]);
    assert!(!stage.auth_dir().exists());
}

#[test]
fn an_answer_is_given_if_every_host_is_one_it_was_written_for() {
    let stage = Stage::new();
    let both = auths(&[(MIRROR, "puller"), ("docker.io", "puller")]);
    stage.write("secrets/pull.json", &manifest("pull", &both));
    let ran = stage.plugin_with_folder().args(&["--deliver", "answer"]).shows_credentials().ask();
    let (response, said) = ran.answered();
    let (image, given) = response.auth.first_key_value().expect("an entry");
    assert_eq!((image.as_str(), given.username.as_str()), (IMAGE, "puller"));
    assert_eq!(given.password.expose(), PASSWORD);
    assert_eq!((response.auth.len(), said), (1, "Answered with 1 credential(s)"));
    assert!(!stage.auth_dir().exists());
}

/// Two hosts, each with its own: a runtime would show both to both.
#[test]
fn two_credentials_are_not_mixed() {
    let stage = Stage::new();
    let both = auths(&[(MIRROR, "puller"), ("docker.io", "hub")]);
    stage.write("secrets/pull.json", &manifest("pull", &both));
    let ran = stage.plugin_with_folder().args(&["--deliver", "answer"]).ask();
    assert!(ran.failed().starts_with("not answered: "), "{ran:?}");
}

#[test]
fn who_asks_for_the_danger_gets_them_in_the_order_of_the_pull() {
    let stage = Stage::new();
    let both = auths(&[(MIRROR, "puller"), ("docker.io", "hub")]);
    stage.write("secrets/pull.json", &manifest("pull", &both));
    let plugin = stage.plugin_with_folder().args(&["--deliver", "answer"]);
    let ran = plugin.arg("--answer-credentials-to-every-host-of-the-pull").shows_credentials().ask();
    let (response, said) = ran.answered();
    // The kubelet tries keys in reverse order of their bytes.
    let users: Vec<_> = response.auth.values().rev().map(|given| given.username.as_str()).collect();
    assert_eq!(users, ["puller", "hub"]);
    assert_eq!(said, "Answered with 2 credential(s)");
    assert!(!stage.auth_dir().exists());
}

/// Whoever may write a Secret could have them shown to a mirror of their choice; the kubelet has them anyway.
#[test]
fn the_node_s_own_credentials_are_never_answered() {
    let stage = Stage::with_secret_on_the_node();
    stage.write("config.json", &auths(&[("docker.io", "node")]));
    let answer = || stage.plugin_with_folder().args(&["--deliver", "answer"]).shows_credentials();
    let ran = answer().arg("--answer-credentials-to-every-host-of-the-pull").ask();
    let (response, said) = ran.answered();
    let users: Vec<_> = response.auth.values().map(|given| given.username.as_str()).collect();
    assert_eq!((users, said), (vec!["puller"], "Answered with 1 credential(s)"));
    // The same as the namespace's own: still the node's.
    stage.write("config.json", &auths(&[("docker.io", "puller")]));
    assert!(answer().ask().failed().starts_with("not answered: "));
}

#[test]
fn the_danger_alone_is_wrong_usage() {
    let stage = Stage::with_secret_on_the_node();
    let ran = stage.plugin_with_folder().arg("--answer-credentials-to-every-host-of-the-pull").ask();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("needs --deliver answer"), "{ran:?}");
}
