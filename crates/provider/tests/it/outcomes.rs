//! How runs are counted.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use pullwright_outcomes::{Counts, Reason};
use pullwright_testkit::standin::{Fault, Trouble};

use crate::cluster::Cluster;
use crate::inputs::{request, token};
use crate::journal::Listener;
use crate::stage::{IMAGE, NAMESPACE, Stage};

/// What was counted on a node.
fn counted(stage: &Stage) -> Vec<(&'static str, u64)> {
    let mut counts = Counts::new(&stage.path("outcomes"));
    counts.refresh().unwrap();
    counts.all().filter(|(_, total)| *total > 0).map(|(reason, total)| (reason.name(), total)).collect()
}

#[test]
fn each_run_is_counted_by_its_reason_and_check_is_not() {
    let stage = Stage::with_secret_on_the_node();
    stage.plugin_with_folder().ask().answered();
    assert!(!stage.path("outcomes").exists(), "nobody asked for it");
    fs::create_dir(stage.path("outcomes")).unwrap();
    stage.plugin_with_folder().ask().answered();
    assert_eq!(counted(&stage), [("wrote-file", 1)]);
    assert_eq!(fs::metadata(stage.path("outcomes/wrote-file")).unwrap().mode() & 0o7777, 0o600);
    // Nobody takes tickets here.
    stage.plugin_with_folder().args(&["--deliver", "ticket"]).ask().failed();
    stage.plugin_with_folder().run("nonsense").failed();
    let unmirrored = request(&token(NAMESPACE)).replace(IMAGE, "quay.io/team/app");
    stage.plugin_with_folder().run(unmirrored).answered();
    stage.write("request", &request(&token(NAMESPACE)));
    let checked = stage.plugin_with_folder().arg("check").arg("--request").arg(stage.path("request")).run("");
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert_eq!(
        counted(&stage),
        [("wrote-file", 1), ("no-mirrors", 1), ("bad-request", 1), ("no-auth-file", 1)]
    );
}

/// The kubelet gets an answer, so its log does not show that the plugin is failing.
#[test]
fn a_failure_counts_as_one_even_if_the_pull_is_kept_apart() {
    let stage = Stage::with_secret_on_the_node();
    stage.plugin_with_folder().ask().answered();
    fs::create_dir(stage.path("outcomes")).unwrap();
    stage.write("registries.conf", "[[");
    let ran = stage.plugin_with_folder().ask();
    assert!(ran.answered().1.contains("this service account's alone"), "{ran:?}");
    assert_eq!(counted(&stage), [("bad-registries-conf", 1)]);
}

#[test]
fn a_pull_does_not_fail_because_it_cannot_be_counted() {
    let stage = Stage::with_secret_on_the_node();
    let journal = Listener::new(&stage);
    fs::create_dir(stage.path("outcomes")).unwrap();
    symlink("elsewhere", stage.path("outcomes/wrote-file")).unwrap();
    stage.plugin_with_folder().ask().answered();
    let entries = journal.entries();
    let warned: Vec<_> = entries.iter().filter(|entry| entry["PRIORITY"] == "4").collect();
    assert!(warned[0]["MESSAGE"].starts_with("cannot count wrote-file in "), "{warned:?}");
    assert_eq!(entries.last().unwrap()["PULLWRIGHT_REASON"], Reason::WroteFile.name());
    assert!(!stage.path("outcomes/elsewhere").exists());
    // A file where the folder should be is no folder.
    fs::remove_dir_all(stage.path("outcomes")).unwrap();
    stage.write("outcomes", "");
    stage.plugin_with_folder().ask().answered();
}

/// Who has to act: the owner of the namespace, or whoever looks after the node.
#[test]
fn a_permission_is_told_apart_from_an_api_server_that_is_away() {
    let cluster = Cluster::new();
    fs::create_dir(cluster.stage.path("outcomes")).unwrap();
    cluster.ask().failed();
    cluster.plugin().run(request(&token("team-b"))).failed();
    cluster.api.inject(Fault::always("", Trouble::Says(500, String::new())));
    cluster.ask().failed();
    assert_eq!(counted(&cluster.stage), [("bad-token", 1), ("no-api-server", 1), ("forbidden", 1)]);
    let node = |reason: Reason| reason.fails() && reason.blames_the_node();
    assert!(node(Reason::NoApiServer) && !node(Reason::Forbidden) && !node(Reason::NoCredential));
}
