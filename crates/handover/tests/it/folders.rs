//! Which folders are trusted with credentials.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};

use pullwright_handover::{AuthFolder, FolderError};

use crate::actor::{content, name};
use crate::stage::{PATIENT, Stage, mode, set_mode};

fn refusal(path: impl AsRef<Path>) -> FolderError {
    AuthFolder::open(path.as_ref()).expect_err("it is refused")
}

pub(crate) fn a_relative_path_is_refused() {
    assert!(matches!(refusal("etc/crio/auth"), FolderError::NotAbsolute { .. }));
}

pub(crate) fn a_missing_folder_is_made_for_us_alone() {
    let stage = Stage::new(PATIENT);
    let path = stage.path("etc/crio/auth");
    AuthFolder::open(&path).expect("it is made");
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(stage.path("etc/crio")) & 0o022, 0);
}

pub(crate) fn the_folder_that_cri_o_makes_is_accepted() {
    let stage = Stage::new(PATIENT);
    fs::create_dir(stage.auth()).unwrap();
    set_mode(stage.auth(), 0o755);
    AuthFolder::open(stage.auth()).expect("it is accepted");
    assert_eq!(mode(stage.auth()), 0o755, "and left as CRI-O made it");
}

pub(crate) fn a_symlink_is_refused_however_it_is_written() {
    let stage = Stage::new(PATIENT);
    fs::create_dir(stage.path("elsewhere")).unwrap();
    symlink(stage.path("elsewhere"), stage.auth()).unwrap();
    for ending in ["", "/", "/.", "//"] {
        let error = refusal(PathBuf::from(format!("{}{ending}", stage.scene.auth)));
        assert!(error.to_string().contains("is a symlink, not a folder"), "{ending:?}: {error}");
    }
}

pub(crate) fn a_file_in_its_place_is_refused() {
    let stage = Stage::new(PATIENT);
    fs::write(stage.auth(), "").unwrap();
    assert!(refusal(stage.auth()).to_string().contains("is a file, not a folder"));
    assert!(matches!(refusal(stage.auth().join("below")), FolderError::Open { .. }));
}

pub(crate) fn a_folder_that_others_can_write_is_refused() {
    let stage = Stage::new(PATIENT);
    fs::create_dir(stage.auth()).unwrap();
    for open in [0o770, 0o702, 0o1777] {
        set_mode(stage.auth(), open);
        let error = refusal(stage.auth());
        assert!(matches!(error, FolderError::Writable { mode, .. } if mode == open), "{error}");
        assert!(error.to_string().contains("chmod go-w"), "{error}");
    }
}

pub(crate) fn a_folder_of_somebody_else_is_refused() {
    let stage = Stage::new(PATIENT);
    fs::create_dir(stage.auth()).unwrap();
    // Root can give a folder away; to anybody else the root of the file system is somebody else's.
    let path = match chown(stage.auth(), Some(65534), None) {
        Ok(()) => stage.auth(),
        Err(_) => Path::new("/"),
    };
    let error = refusal(path);
    assert!(matches!(error, FolderError::OtherOwner { .. }), "{error}");
}

pub(crate) fn what_happens_to_the_path_later_does_not_matter() {
    let stage = Stage::new(PATIENT);
    let handover = stage.handover();
    fs::create_dir(stage.path("trap")).unwrap();
    fs::rename(stage.auth(), stage.path("checked")).unwrap();
    symlink(stage.path("trap"), stage.auth()).unwrap();
    let deadline = std::time::Instant::now() + crate::stage::NEVER;
    let name = name("a");
    handover.put(&name, &content("one"), deadline, &stage.scene.sweeper()).expect("it is put");
    assert!(stage.path("checked").join(name.to_string()).exists());
    assert_eq!(fs::read_dir(stage.path("trap")).unwrap().count(), 0);
}
