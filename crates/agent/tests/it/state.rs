//! The agent's state on the node.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use pullwright_agent::transaction::{Error, HostRoot, Recovery, Transactions};

use crate::agent::{a, settle};
use crate::stage::{STATE, Stage, applied, idle};

pub(crate) fn it_is_for_us_alone() {
    let stage = Stage::new();
    // As the kubelet makes it for a mount.
    fs::create_dir(stage.path(STATE)).unwrap();
    fs::set_permissions(stage.path(STATE), fs::Permissions::from_mode(0o755)).unwrap();
    let mut transactions = stage.open().unwrap();
    let _applied = applied(idle(&mut transactions).switch("a", &a()).unwrap());
    let mut files = 0;
    let mut folders = vec![stage.path(STATE)];
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700, "{}", folder.display());
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let meta = fs::metadata(&entry).unwrap();
            if meta.is_dir() {
                folders.push(entry);
            } else {
                assert_eq!(meta.mode() & 0o7777, 0o600, "{}", entry.display());
                files += 1;
            }
        }
    }
    // The journal, two originals, five new contents.
    assert_eq!(files, 8);
}

pub(crate) fn a_second_agent_waits_or_is_refused() {
    let stage = Stage::new();
    let first = stage.open().unwrap();
    let error = stage.open().unwrap_err();
    assert!(matches!(error, Error::Busy), "{error}");
    let root = HostRoot::open(stage.root()).unwrap();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let asked = Instant::now();
            let mut second = Transactions::open(root, Duration::from_mins(1)).unwrap();
            applied(idle(&mut second).switch("a", &a()).unwrap()).commit().unwrap();
            asked.elapsed()
        });
        std::thread::sleep(Duration::from_millis(200));
        // The folder that the second waits for goes away under it.
        assert!(first.remove_state().unwrap());
        assert!(second.join().unwrap() >= Duration::from_millis(100));
    });
    assert_eq!(stage.open().unwrap().configuration(), Some("a"));
}

pub(crate) fn a_journal_of_another_version_is_left_alone() {
    let stage = Stage::new();
    stage.switch("a", &a()).unwrap();
    let path = stage.path(STATE).join("journal.json");
    let mut journal = stage.journal();
    journal["format"] = 2.into();
    journal["novelty"] = true.into();
    fs::write(&path, journal.to_string()).unwrap();
    let before = (stage.tree(), originals(&stage));
    let error = stage.open().unwrap_err();
    assert!(matches!(error, Error::Format { found: 2, known: 1 }), "{error}");
    assert!(error.to_string().contains("run the version of the agent that wrote it"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), journal.to_string());
    for nonsense in ["", "{", "null", r#"{"format": 1}"#] {
        fs::write(&path, nonsense).unwrap();
        let error = stage.open().unwrap_err();
        assert!(matches!(error, Error::Journal { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), nonsense);
    }
    assert_eq!((stage.tree(), originals(&stage)), before);
}

fn originals(stage: &Stage) -> usize {
    fs::read_dir(stage.path(STATE).join("original")).unwrap().count()
}

pub(crate) fn originals_without_a_journal_are_left_alone() {
    let stage = Stage::new();
    stage.switch("a", &a()).unwrap();
    fs::remove_file(stage.path(STATE).join("journal.json")).unwrap();
    let error = stage.open().unwrap_err();
    assert!(matches!(error, Error::NoJournal), "{error}");
    assert_eq!(originals(&stage), 2);
}

pub(crate) fn a_damaged_content_is_not_written() {
    let stage = Stage::new();
    let mut transactions = stage.open().unwrap();
    let switched = applied(idle(&mut transactions).switch("a", &a()).unwrap());
    let content = originals_of(stage.path(STATE).join("original").as_path());
    fs::write(&content, "damaged").unwrap();
    let error = switched.roll_back().unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    let written = stage.tree().into_values().filter(|what| what.contains("damaged")).count();
    assert_eq!(written, 0);
    // Once it is mended, the next try goes on.
    fs::write(&content, "registries before").unwrap();
    let Recovery::HalfUndone(half) = transactions.recover() else { panic!("it was undone") };
    assert_eq!((half.configuration(), half.changed().count()), (Some("a"), a().len()));
    settle(half.undo().unwrap()).unwrap();
    assert_eq!(stage.tree(), Stage::new().tree());
}

/// The kept content of one file.
fn originals_of(folder: &Path) -> std::path::PathBuf {
    let of = |path: &Path| fs::read_to_string(path).unwrap() == "registries before";
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).find(|path| of(path)).unwrap()
}

pub(crate) fn a_folder_without_var_lib_is_not_a_node() {
    let empty = tempfile::tempdir().unwrap();
    let root = HostRoot::open(empty.path()).unwrap();
    let error = Transactions::open(root, Duration::ZERO).unwrap_err();
    assert!(matches!(error, Error::NotANode { .. }), "{error}");
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
}
