//! What is refused, and left as it is.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use pullwright_agent::transaction::{Error, NodePath, Recovery};

use crate::agent::{a, b};
use crate::stage::{Stage, applied, file, idle};

pub(crate) fn an_edit_by_others_is_left_alone() {
    let stage = Stage::new();
    stage.switch("a", &a()).unwrap();
    stage.write("etc/mode.conf", "edited", 0o644);
    let before = stage.tree();
    let error = stage.switch("b", &b()).unwrap_err();
    let Error::ForeignEdit { paths } = &error else { panic!("{error}") };
    assert_eq!(paths.iter().map(NodePath::as_str).collect::<Vec<_>>(), ["/etc/mode.conf"]);
    assert!(error.to_string().contains("take your changes out"), "{error}");
    assert_eq!(stage.tree(), before);
    assert_eq!(stage.open().unwrap().configuration(), Some("a"));
    // What the error says helps.
    fs::remove_file(stage.path("etc/mode.conf")).unwrap();
    stage.switch("b", &b()).unwrap();
    assert_eq!(stage.read("etc/mode.conf"), "the same content");
}

pub(crate) fn an_edit_by_others_during_a_switch_is_not_rolled_back() {
    let stage = Stage::new();
    stage.switch("a", &a()).unwrap();
    let mut transactions = stage.open().unwrap();
    let switched = applied(idle(&mut transactions).switch("b", &b()).unwrap());
    stage.write("etc/registries.conf", "edited", 0o644);
    let undone = switched.roll_back().unwrap();
    assert_eq!(undone.kept().iter().map(NodePath::as_str).collect::<Vec<_>>(), ["/etc/registries.conf"]);
    assert_eq!(stage.read("etc/registries.conf"), "edited");
    assert_eq!(stage.read("etc/crio/keep.conf"), "keep in a");
    // The next agent knows it too.
    drop(transactions);
    let mut transactions = stage.open().unwrap();
    let Recovery::Undone(undone) = transactions.recover() else { panic!("services have not followed") };
    assert_eq!(undone.kept().iter().map(NodePath::as_str).collect::<Vec<_>>(), ["/etc/registries.conf"]);
    undone.settle().unwrap();
    assert!(matches!(transactions.recover(), Recovery::Nothing(_)));
}

pub(crate) fn what_is_not_a_file_is_left_alone() {
    let stage = Stage::new();
    fs::create_dir(stage.path("etc/folder")).unwrap();
    symlink("others.conf", stage.path("etc/link")).unwrap();
    symlink("/dev/null", stage.path("etc/masked")).unwrap();
    symlink("nowhere", stage.path("etc/dangling")).unwrap();
    let _listener = UnixListener::bind(stage.path("etc/socket")).unwrap();
    let before = stage.tree();
    for (name, kind) in [
        ("folder", "folder"),
        ("link", "symlink"),
        ("masked", "symlink"),
        ("dangling", "symlink"),
        ("socket", "socket"),
    ] {
        let wanted = [file("/etc/first", 0o644, "first"), file(&format!("/etc/{name}"), 0o644, "content")];
        let error = stage.switch("c", &wanted).unwrap_err().to_string();
        let expected = format!("/etc/{name} is a {kind}, not a file: remove it, or leave the path out");
        assert!(error.starts_with(&expected), "{error}");
        assert_eq!(stage.tree(), before);
    }
    // A file where a folder should be.
    let error = stage.switch("c", &[file("/etc/others.conf/a", 0o644, "")]).unwrap_err().to_string();
    assert!(error.starts_with("cannot open the folder /etc/others.conf: Not a directory"), "{error}");
    assert_eq!(stage.tree(), before);
}

pub(crate) fn a_link_cannot_lead_outside() {
    let (stage, outside) = (Stage::new(), Stage::new());
    symlink(outside.path("etc"), stage.path("etc/absolute")).unwrap();
    symlink("../../../../../../../../etc/crio", stage.path("etc/above")).unwrap();
    let before = outside.tree();
    // The folder that the link means does not exist inside, and its name is taken by the link.
    let error = stage.switch("c", &[file("/etc/absolute/a", 0o644, "mine")]).unwrap_err();
    assert!(error.to_string().contains("/etc/absolute"), "{error}");
    assert_eq!(outside.tree(), before);
    // This one means a folder inside.
    stage.switch("c", &[file("/etc/above/a", 0o644, "mine")]).unwrap();
    assert_eq!(stage.read("etc/crio/a"), "mine");
}

pub(crate) fn two_paths_to_one_file_are_refused() {
    let stage = Stage::new();
    symlink("etc", stage.path("also-etc")).unwrap();
    let before = stage.tree();
    let wanted = [file("/etc/a", 0o644, "one"), file("/also-etc/a", 0o644, "two")];
    let error = stage.switch("c", &wanted).unwrap_err();
    assert!(matches!(error, Error::SameFile { .. }), "{error}");
    let error = stage.switch("c", &[wanted[0].clone(), wanted[0].clone()]).unwrap_err();
    assert!(matches!(error, Error::SameFile { .. }), "{error}");
    assert_eq!(stage.tree(), before);
}
