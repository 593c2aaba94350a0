//! Switching files, committing and rolling back.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use pullwright_agent::transaction::{Error, Recovery, Switched};
use rustix::fs::{XattrFlags, lgetxattr, setxattr};

use crate::agent::{a, b, restore, settle};
use crate::stage::{NOTE, STATE, Stage, applied, file, files, idle};

pub(crate) fn files_are_as_wanted_and_then_as_before() {
    let stage = Stage::new();
    stage.switch("a", &a()).unwrap();
    assert_eq!(stage.read("etc/registries.conf"), "registries in a");
    assert_eq!(stage.read("etc/gone/only-a.conf"), "only in a");
    let mode = |path| fs::metadata(stage.path(path)).unwrap().mode() & 0o7777;
    assert_eq!([mode("usr/libexec/plugin"), mode("etc/mode.conf"), mode("etc/gone")], [0o755, 0o644, 0o755]);
    assert_eq!(stage.read("etc/others.conf"), "of others");
    let transactions = stage.open().unwrap();
    assert_eq!(transactions.configuration(), Some("a"));
    let files: Vec<_> = transactions.files().map(|path| path.as_str().to_owned()).collect();
    assert_eq!(files, a().iter().map(|file| file.path().as_str().to_owned()).collect::<Vec<_>>());
}

/// What tells one version of a file from another, and a write from none.
fn identity(stage: &Stage, path: &str) -> (u64, SystemTime, i64) {
    let meta = fs::metadata(stage.path(path)).unwrap();
    (meta.ino(), meta.modified().unwrap(), meta.ctime_nsec())
}

pub(crate) fn what_is_as_wanted_keeps_inode_and_times() {
    let stage = Stage::new();
    let wanted =
        |text| [file("/etc/registries.conf", 0o644, "registries before"), file("/etc/a", 0o644, text)];
    let before = identity(&stage, "etc/registries.conf");
    stage.switch("one", &wanted("one")).unwrap();
    stage.switch("two", &wanted("two")).unwrap();
    assert_eq!(identity(&stage, "etc/registries.conf"), before);
    assert_eq!(stage.read("etc/a"), "two");
}

pub(crate) fn the_same_configuration_again_writes_nothing() {
    let stage = Stage::new();
    stage.switch("a", &a()).unwrap();
    let journal = |stage: &Stage| identity(stage, &format!("{STATE}/journal.json"));
    let before = (stage.tree(), journal(&stage), identity(&stage, "usr/libexec/plugin"));
    let mut transactions = stage.open().unwrap();
    assert!(matches!(idle(&mut transactions).switch("a", &a()).unwrap(), Switched::Unchanged));
    assert_eq!((stage.tree(), journal(&stage), identity(&stage, "usr/libexec/plugin")), before);
}

pub(crate) fn what_is_no_longer_wanted_is_as_it_was_before_us() {
    let stage = Stage::new();
    let before = stage.tree();
    stage.switch("a", &a()).unwrap();
    stage.switch("b", &b()).unwrap();
    let keep = "etc/crio/keep.conf";
    assert_eq!(stage.tree()[Path::new(keep)], before[Path::new(keep)]);
    assert!(!stage.path("etc/gone").exists(), "the folder was ours");
    // It is not ours any more, so others may do with it as they like.
    stage.write(keep, "changed by others", 0o640);
    stage.switch("a", &a()).unwrap();
    assert_eq!(stage.read(keep), "keep in a");
    stage.switch("b", &b()).unwrap();
    assert_eq!(stage.read(keep), "changed by others");
}

pub(crate) fn a_roll_back_leads_to_the_last_configuration() {
    let stage = Stage::new();
    stage.switch("a", &a()).unwrap();
    let before = stage.tree();
    let mut transactions = stage.open().unwrap();
    let switched = applied(idle(&mut transactions).switch("b", &b()).unwrap());
    assert_eq!(switched.configuration(), Some("b"));
    let changed: Vec<_> = switched.changed().map(|path| path.as_str().to_owned()).collect();
    let expected = [
        "/usr/libexec/plugin",
        "/etc/new/deep/b.conf",
        "/etc/mode.conf",
        "/etc/registries.conf",
        "/etc/crio/keep.conf",
        "/etc/gone/only-a.conf",
    ];
    assert_eq!(changed, expected);
    assert_ne!(stage.tree(), before);
    settle(switched.roll_back().unwrap()).unwrap();
    assert_eq!(stage.tree(), before);
    assert_eq!(transactions.configuration(), Some("a"));
}

pub(crate) fn a_label_stays_and_a_list_of_others_does_not() {
    let stage = Stage::new();
    let path = stage.path("etc/registries.conf");
    // Only root may set labels; an attribute of the user's goes either way.
    let label = setxattr(&path, "security.selinux", b"system_u:object_r:etc_t:s0\0", XattrFlags::empty());
    setxattr(&path, NOTE, b"mine", XattrFlags::empty()).unwrap();
    stage.switch("a", &a()).unwrap();
    let mut buffer = [0; 64];
    assert!(lgetxattr(&path, NOTE, &mut buffer[..]).is_err());
    if label.is_ok() {
        let length = lgetxattr(&path, "security.selinux", &mut buffer[..]).unwrap();
        assert_eq!(&buffer[..length], b"system_u:object_r:etc_t:s0\0");
    }
}

pub(crate) fn a_strict_umask_changes_nothing() {
    let (stage, usual) = (Stage::new(), Stage::new());
    usual.switch("a", &a()).unwrap();
    let ran = Command::new("sh")
        .args(["-c", "umask 077 && exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["agent", "a"])
        .arg(stage.root())
        .status()
        .unwrap();
    assert!(ran.success());
    assert_eq!(stage.tree(), usual.tree());
}

pub(crate) fn what_a_reboot_lost_is_written_again() {
    let stage = Stage::new();
    stage.switch("a", &a()).unwrap();
    let with_a = stage.tree();
    fs::remove_file(stage.path("etc/others.conf")).unwrap();
    fs::remove_dir_all(stage.path("etc")).unwrap();
    stage.switch("a", &a()).unwrap();
    let mut expected = with_a.clone();
    expected.remove(Path::new("etc/others.conf"));
    assert_eq!(stage.tree(), expected);
    restore(stage.open().unwrap()).unwrap();
    assert_eq!(stage.read("etc/crio/keep.conf"), "keep before");
}

pub(crate) fn a_roll_back_makes_folders_that_are_gone() {
    let stage = Stage::new();
    stage.switch("a", &a()).unwrap();
    let before = stage.tree();
    let mut transactions = stage.open().unwrap();
    let switched = applied(idle(&mut transactions).switch("b", &b()).unwrap());
    fs::remove_dir_all(stage.path("etc/crio")).unwrap();
    fs::remove_dir_all(stage.path("etc/new")).unwrap();
    settle(switched.roll_back().unwrap()).unwrap();
    assert_eq!(stage.tree(), before);
}

pub(crate) fn a_roll_back_is_open_until_services_have_followed() {
    let stage = Stage::new();
    stage.switch("a", &a()).unwrap();
    let before = files(&stage.tree());
    let mut transactions = stage.open().unwrap();
    let switched = applied(idle(&mut transactions).switch("b", &b()).unwrap());
    let changed: Vec<_> = switched.changed().cloned().collect();
    drop(switched.roll_back().unwrap());
    // However often the agent dies before it has reloaded them.
    for _ in 0..2 {
        drop(transactions);
        assert_eq!(files(&stage.tree()), before);
        transactions = stage.open().unwrap();
        let Recovery::Undone(undone) = transactions.recover() else { panic!("services have not followed") };
        assert_eq!(undone.configuration(), Some("b"));
        assert_eq!(undone.changed().cloned().collect::<Vec<_>>(), changed);
    }
    let Recovery::Undone(undone) = transactions.recover() else { panic!("services have not followed") };
    settle(undone).unwrap();
    assert!(matches!(transactions.recover(), Recovery::Nothing(_)));
    // Everything goes on as if nothing had happened.
    drop(transactions);
    stage.switch("b", &b()).unwrap();
    assert_eq!(stage.read("etc/registries.conf"), "registries in b");
}

pub(crate) fn a_switch_that_fails_midway_is_open_until_services_have_followed() {
    let stage = Stage::new();
    let mut transactions = stage.open().unwrap();
    // An earlier agent ended in the middle, and this one cannot finish: somebody may have read what it had switched.
    let _applied = applied(idle(&mut transactions).switch("a", &a()).unwrap());
    drop(transactions);
    let mut journal = stage.journal();
    journal["switch"]["phase"] = "intent".into();
    fs::write(stage.path(STATE).join("journal.json"), journal.to_string()).unwrap();
    stage.write("etc/mode.conf", "edited", 0o644);
    let mut transactions = stage.open().unwrap();
    let Recovery::HalfApplied(half) = transactions.recover() else { panic!("it ended in the middle") };
    let error = half.finish().unwrap_err();
    assert!(matches!(error, Error::Undone { .. }), "{error}");
    let Recovery::Undone(undone) = transactions.recover() else { panic!("services have not followed") };
    assert_eq!((undone.changed().count(), undone.kept().len()), (a().len(), 1));
}
