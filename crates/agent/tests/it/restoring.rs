//! The files as they were before the first switch.

use std::fs;
use std::os::unix::fs::chown;
use std::process::{Command, Output};

use pullwright_agent::transaction::Error;

use crate::agent::{a, b, restore, settle};
use crate::stage::{STATE, Stage, applied, file, idle};

pub(crate) fn everything_is_as_before() {
    let stage = Stage::new();
    // Root can give files away; others have only their own.
    let _ = chown(stage.path("etc/crio/keep.conf"), Some(1234), Some(4321));
    stage.write("etc/odd.conf", "odd", 0o4711);
    let before = stage.tree();
    stage.switch("a", &a()).unwrap();
    let odd = [crate::stage::file("/etc/odd.conf", 0o600, "ours"), a()[2].clone()];
    stage.switch("odd", &odd).unwrap();
    stage.switch("b", &b()).unwrap();
    stage.switch("odd", &odd).unwrap();
    assert_ne!(stage.tree(), before);
    restore(stage.open().unwrap()).unwrap();
    assert_eq!(stage.tree(), before);
    assert!(!stage.path(STATE).exists());
    // And once more: there is nothing to restore.
    restore(stage.open().unwrap()).unwrap();
    assert_eq!(stage.tree(), before);
    assert!(!stage.path(STATE).exists());
}

pub(crate) fn edits_by_others_stay_and_so_do_their_originals() {
    let stage = Stage::new();
    let before = stage.tree();
    stage.switch("a", &a()).unwrap();
    stage.write("etc/registries.conf", "edited", 0o644);
    fs::remove_file(stage.path("etc/mode.conf")).unwrap();
    fs::create_dir(stage.path("etc/mode.conf")).unwrap();
    let mut transactions = stage.open().unwrap();
    let restored = idle(&mut transactions).restore_originals().unwrap();
    let kept: Vec<_> = restored.kept.iter().map(|kept| kept.path.as_str()).collect();
    assert_eq!(kept, ["/etc/mode.conf", "/etc/registries.conf"]);
    assert!(restored.kept[1].reason.contains("changed since Pullwright wrote it"), "{restored:?}");
    applied(restored.switched).commit().unwrap();
    assert!(!transactions.remove_state().unwrap());
    assert_eq!(stage.read("etc/registries.conf"), "edited");
    assert_eq!(stage.read("etc/crio/keep.conf"), "keep before");
    // They made up their mind.
    fs::remove_file(stage.path("etc/registries.conf")).unwrap();
    fs::remove_dir(stage.path("etc/mode.conf")).unwrap();
    restore(stage.open().unwrap()).unwrap();
    assert_eq!(stage.tree(), before);
    assert!(!stage.path(STATE).exists());
}

pub(crate) fn folders_that_others_use_stay() {
    let stage = Stage::new();
    stage.switch("b", &b()).unwrap();
    stage.write("etc/new/of-others", "mine", 0o644);
    restore(stage.open().unwrap()).unwrap();
    assert_eq!(stage.read("etc/new/of-others"), "mine");
    assert!(!stage.path("etc/new/deep").exists() && !stage.path("usr").exists());
}

pub(crate) fn what_does_not_work_without_us_can_be_rolled_back() {
    let stage = Stage::new();
    stage.switch("a", &a()).unwrap();
    let with_a = stage.tree();
    let mut transactions = stage.open().unwrap();
    let restored = applied(idle(&mut transactions).restore_originals().unwrap().switched);
    assert_eq!((restored.configuration(), restored.changed().count()), (None, a().len()));
    settle(restored.roll_back().unwrap()).unwrap();
    assert_eq!((stage.tree(), transactions.configuration()), (with_a, Some("a")));
}

pub(crate) fn state_of_what_is_interrupted_stays() {
    let stage = Stage::new();
    let mut transactions = stage.open().unwrap();
    let _applied = applied(idle(&mut transactions).switch("a", &a()).unwrap());
    let now = stage.tree();
    assert!(matches!(transactions.remove_state(), Err(Error::Interrupted)));
    assert_eq!(stage.tree(), now);
    assert_eq!(stage.journal()["switch"]["phase"], "applied");
}

/// With no cluster to ask, no kubeconfig, and nothing that services would have to follow.
pub(crate) fn the_program_needs_nobody_for_it() {
    let stage = Stage::new();
    let before = stage.tree();
    let hosts = file("/etc/containerd/certs.d/quay.io/hosts.toml", 0o644, "server = \"https://quay.io\"\n");
    stage.switch("containerd-0123456789", &[hosts]).unwrap();
    assert_ne!(stage.tree(), before);
    let ran = run_program(&stage);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(stage.tree(), before);
    assert!(!stage.path(STATE).exists());
}

pub(crate) fn the_program_says_what_it_leaves() {
    let stage = Stage::new();
    let files = ["quay.io", "docker.io"].map(|host| {
        file(&format!("/etc/containerd/certs.d/{host}/hosts.toml"), 0o644, "server = \"https://a.io\"\n")
    });
    stage.switch("containerd-0123456789", &files).unwrap();
    stage.write("etc/containerd/certs.d/quay.io/hosts.toml", "edited", 0o644);
    let ran = run_program(&stage);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("quay.io/hosts.toml changed since Pullwright wrote it"), "{said}");
    assert_eq!(stage.read("etc/containerd/certs.d/quay.io/hosts.toml"), "edited");
    assert!(!stage.path("etc/containerd/certs.d/docker.io").exists(), "all others are restored");
    // Once nobody wants the edited file, nothing is left.
    fs::remove_file(stage.path("etc/containerd/certs.d/quay.io/hosts.toml")).unwrap();
    assert!(run_program(&stage).status.success());
    assert!(!stage.path(STATE).exists());
}

fn run_program(stage: &Stage) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_pullwright-agent"));
    program.arg("restore").arg("--root").arg(stage.root()).env_clear().output().unwrap()
}
