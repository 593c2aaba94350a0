//! One put after another, and all that can stand in its way.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, SystemTime};

use pullwright_handover::{Bounds, Earlier, PutError};

use crate::actor::{id_of, name};
use crate::stage::{NEVER, PATIENT, Stage, mode, output, until};

const AT_ONCE: Bounds = Bounds { stood: Duration::ZERO, ..PATIENT };

pub(crate) fn a_file_stands_whole_and_readable_by_us_alone() {
    let stage = Stage::new(PATIENT);
    let put = stage.put(&name("a"), "one").expect("it is put");
    assert_eq!(put.earlier, Earlier::None);
    assert_eq!(put.path, stage.auth().join(name("a").to_string()));
    assert_eq!(id_of(&fs::read(&put.path).unwrap()), "one");
    assert_eq!(mode(&put.path), 0o600);
    assert_eq!(stage.names(), [name("a").to_string()]);
}

pub(crate) fn a_put_waits_until_the_earlier_file_is_taken() {
    let stage = Stage::new(PATIENT);
    stage.put(&name("a"), "one").expect("it is put");
    let second = stage.plugin("a", "two").spawn().unwrap();
    until("the second has written its file", || stage.names().len() == 2);
    let claim = || stage.handover().folder().claim(&name("a")).unwrap().expect("a file").read().unwrap();
    assert_eq!(id_of(&claim()), "one");
    assert_eq!(output(second), "taken");
    assert_eq!(id_of(&claim()), "two");
    assert_eq!(stage.names(), [""; 0]);
}

pub(crate) fn a_file_that_stood_too_long_is_replaced() {
    let stage = Stage::new(Bounds { stood: Duration::from_millis(50), ..PATIENT });
    stage.put(&name("a"), "one").expect("it is put");
    let put = stage.put(&name("a"), "two").expect("it is put");
    assert_eq!(put.earlier, Earlier::Replaced);
    assert_eq!(id_of(&fs::read(&put.path).unwrap()), "two");
    assert_eq!(stage.names(), [name("a").to_string()]);
}

/// A file keeps its `mtime` when it moves into place, so one that waited in the queue would be replaced at once.
pub(crate) fn an_old_mtime_does_not_make_a_file_stale() {
    let stage = Stage::new(Bounds { stood: Duration::from_mins(30), ..PATIENT });
    let path = stage.put(&name("a"), "one").expect("it is put").path;
    let long_ago = FileTimes::new().set_modified(SystemTime::now() - 24 * NEVER);
    File::options().write(true).open(&path).unwrap().set_times(long_ago).unwrap();
    let error = stage.put_until(&name("a"), "two", Duration::from_millis(50)).expect_err("it stands");
    assert!(matches!(error, PutError::Deadline { .. }), "{error}");
    assert_eq!(id_of(&fs::read(&path).unwrap()), "one");
}

pub(crate) fn at_the_deadline_nothing_is_left_behind() {
    let stage = Stage::new(PATIENT);
    stage.put(&name("a"), "one").expect("it is put");
    let mut second = stage.plugin("a", "two").spawn().unwrap();
    until("the second holds the lock", || stage.names().len() == 2);
    // The third does not get the lock of the second.
    let error = stage.put_until(&name("a"), "three", Duration::from_millis(50)).expect_err("no turn");
    assert!(matches!(error, PutError::Lock(_)), "{error}");
    assert_eq!(stage.names().len(), 2, "only those of the first and the second");
    second.kill().unwrap();
    second.wait().unwrap();
    // The dead hold no lock.
    let error = stage.put_until(&name("a"), "three", Duration::from_millis(50)).expect_err("still wanted");
    assert!(matches!(error, PutError::Deadline { .. }), "{error}");
    assert_eq!(stage.names().len(), 2, "that of the first, and what the killed one left");
}

pub(crate) fn a_folder_where_the_file_should_be_is_reported() {
    let stage = Stage::new(AT_ONCE);
    let path = stage.auth().join(name("a").to_string());
    fs::create_dir_all(&path).unwrap();
    crate::stage::set_mode(stage.auth(), 0o700);
    let error = stage.put(&name("a"), "one").expect_err("it is reported");
    assert!(error.to_string().contains("is a folder of uid"), "{error}");
    assert!(error.to_string().contains("remove it"), "{error}");
    assert_eq!(stage.names(), [name("a").to_string()]);
    assert!(path.is_dir());
}

pub(crate) fn a_symlink_where_the_file_should_be_is_reported_and_not_followed() {
    let stage = Stage::new(AT_ONCE);
    stage.handover();
    fs::write(stage.path("precious"), "precious").unwrap();
    symlink(stage.path("precious"), stage.auth().join(name("a").to_string())).unwrap();
    let error = stage.put(&name("a"), "one").expect_err("it is reported");
    assert!(error.to_string().contains("is a symlink of uid"), "{error}");
    assert_eq!(fs::read_to_string(stage.path("precious")).unwrap(), "precious");
    assert_eq!(stage.names(), [name("a").to_string()]);
}

pub(crate) fn a_full_disk_leaves_nothing() {
    let (error, left) = put_on_a_file_system_of_its_own("size=64k,mode=700", "true");
    assert!(error.contains("cannot write the auth file in") && error.contains("No space left"), "{error}");
    assert_eq!(left, "");
}

pub(crate) fn a_read_only_folder_leaves_nothing() {
    let (error, left) =
        put_on_a_file_system_of_its_own("size=4m,mode=700", "mount -o remount,bind,ro \"$AUTH\"");
    assert!(error.contains("cannot write the auth file in") && error.contains("Read-only"), "{error}");
    assert_eq!(left, "");
}

/// Lets a plugin put into a fresh tmpfs that nobody else sees: its error, and what it left there.
fn put_on_a_file_system_of_its_own(options: &str, then: &str) -> (String, String) {
    let stage = Stage::new(PATIENT);
    fs::create_dir(stage.auth()).unwrap();
    let plugin = stage.plugin("a", "one");
    // The exit code tells a mount that is not allowed here (9) from a plugin that did not fail (8).
    let script = format!(
        "mount -t tmpfs -o {options} none \"$AUTH\" || exit 9; {then} || exit 9; \"$@\" && exit 8; ls -A \"$AUTH\""
    );
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"])
        .arg(plugin.get_program())
        .args(plugin.get_args())
        .env("AUTH", stage.auth())
        .output()
        .expect("unshare (package util-linux) is installed");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert!(ran.status.success(), "{:?}: {}", ran.status, text(&ran.stderr));
    (text(&ran.stderr), text(&ran.stdout))
}
