//! The folder that the file goes to: not ours, not a folder, full, read-only, in use by others.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, chown, symlink};
use std::process::{Command, Stdio};
use std::time::Duration;

use pullwright_engine::credentials::{AuthFile, Lookup};
use pullwright_handover::{AuthFileName, AuthFolder};

use crate::inputs::{request, token};
use crate::journal::told;
use crate::plugin::{Plugin, Ran, assert_no_canary};
use crate::stage::{IMAGE, MIRRORED, NAMESPACE, PASSWORD, Stage, names_below, until};

#[test]
fn a_missing_folder_is_made_for_us_alone() {
    let stage = Stage::with_secret_on_the_node();
    assert!(stage.plugin_with_folder().ask().answered().1.starts_with("Wrote auth file to "));
    let mode = fs::metadata(stage.auth_dir()).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
}

#[test]
fn a_folder_of_somebody_else_is_refused() {
    let stage = Stage::with_secret_on_the_node();
    fs::create_dir(stage.auth_dir()).unwrap();
    // Root can give a folder away; to anybody else the root of the file system is somebody else's.
    let (folder, owner) = match chown(stage.auth_dir(), Some(65534), None) {
        Ok(()) => (stage.auth_dir(), 65534),
        Err(_) => ("/".into(), 0),
    };
    let ran = stage.plugin_with_folder().arg("--auth-dir").arg(&folder).ask();
    let says = format!("{folder:?} belongs to uid {owner}, and we run as uid ");
    assert!(ran.failed().starts_with(&says), "{ran:?}");
    assert_eq!(names_below(&stage.auth_dir()), [""; 0]);
}

#[test]
fn a_symlink_is_not_followed() {
    let stage = Stage::with_secret_on_the_node();
    fs::create_dir(stage.path("elsewhere")).unwrap();
    symlink(stage.path("elsewhere"), stage.auth_dir()).unwrap();
    let ran = stage.plugin_with_folder().ask();
    assert!(ran.failed().contains(" is a symlink, not a folder: give the real folder"), "{ran:?}");
    assert_eq!(names_below(&stage.path("elsewhere")), [""; 0]);
}

#[test]
fn a_folder_that_others_can_write_is_refused() {
    let stage = Stage::with_secret_on_the_node();
    fs::create_dir(stage.auth_dir()).unwrap();
    fs::set_permissions(stage.auth_dir(), fs::Permissions::from_mode(0o777)).unwrap();
    let ran = stage.plugin_with_folder().ask();
    assert!(ran.failed().contains("can be written by others (mode 0777): chmod go-w "), "{ran:?}");
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn a_file_where_the_folder_should_be_is_reported() {
    let stage = Stage::with_secret_on_the_node();
    stage.write("auth", "");
    let ran = stage.plugin_with_folder().ask();
    assert!(ran.failed().contains(" is a file, not a folder: "), "{ran:?}");
}

#[test]
fn a_folder_where_the_file_should_be_is_reported() {
    let stage = Stage::with_secret_on_the_node();
    let path = stage.auth_file(NAMESPACE, IMAGE);
    fs::create_dir_all(&path).unwrap();
    fs::set_permissions(stage.auth_dir(), fs::Permissions::from_mode(0o700)).unwrap();
    let ran = stage.plugin_with_folder().ask();
    let failed = ran.failed();
    assert!(failed.starts_with(&format!("{path:?} is a folder of uid ")), "{failed}");
    assert!(failed.ends_with("not an auth file of ours: remove it"), "{failed}");
    assert_eq!(stage.left(), [""; 0]);
    assert!(path.is_dir());
}

#[test]
fn a_full_disk_leaves_nothing() {
    let (ran, left) = on_a_file_system_of_its_own(
        "nr_inodes=2,size=4k,mode=700",
        "dd if=/dev/zero of=\"$AUTH/x\" bs=4k count=1",
    );
    let failed = ran.failed();
    assert!(
        failed.starts_with("cannot write the auth file in ") && failed.contains("No space left"),
        "{failed}"
    );
    assert_eq!(left, "x\n");
}

#[test]
fn a_read_only_folder_leaves_nothing() {
    let (ran, left) = on_a_file_system_of_its_own("size=4m,mode=700", "mount -o remount,bind,ro \"$AUTH\"");
    let failed = ran.failed();
    assert!(failed.starts_with("cannot write the auth file in ") && failed.contains("Read-only"), "{failed}");
    assert_eq!(left, "");
}

/// The plugin with an auth folder that is a fresh tmpfs, and what it left there. A user namespace makes everybody root
/// of what nobody else sees.
fn on_a_file_system_of_its_own(options: &str, then: &str) -> (Ran, String) {
    let stage = Stage::with_secret_on_the_node();
    fs::create_dir(stage.auth_dir()).unwrap();
    stage.write("request", &request(&token(NAMESPACE)));
    // 99 tells a mount that is not allowed here from what the plugin says.
    let script = format!(
        "{{ mount -t tmpfs -o {options} none \"$AUTH\" && {then}; }} >/dev/null 2>\"$ROOT/mount\" || exit 99\n\
         \"$@\" <\"$ROOT/request\"; code=$?; ls -A \"$AUTH\" >\"$ROOT/left\"; exit $code"
    );
    let plugin = stage.plugin_with_folder();
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"])
        .arg(plugin.command.get_program())
        .args(plugin.command.get_args())
        .env("AUTH", stage.auth_dir())
        .env("ROOT", stage.path(""))
        .stdin(Stdio::null())
        .output()
        .expect("unshare (package util-linux) is installed");
    let ran = Ran::new(output, false);
    assert_ne!(ran.code, Some(99), "{}", fs::read_to_string(stage.path("mount")).unwrap_or_default());
    (ran, fs::read_to_string(stage.path("left")).unwrap())
}

/// Pulls of one image in one namespace find a file each, whoever comes first.
#[test]
fn parallel_pulls_find_a_file_each() {
    let stage = Stage::with_secret_on_the_node();
    let pulls = 8;
    let stdin = request(&token(NAMESPACE));
    let plugins: Vec<_> = (0..pulls).map(|_| stage.plugin_with_folder().start(&stdin)).collect();
    let folder = AuthFolder::open(&stage.auth_dir()).unwrap();
    let name = AuthFileName::new(&NAMESPACE.parse().unwrap(), IMAGE).unwrap();
    let mut claimed = 0;
    until("each pull has claimed a file", || {
        if let Some(claim) = folder.claim(&name).expect("it can be claimed") {
            let file = AuthFile::parse(&claim.read().expect("a file")).expect("a whole file");
            assert!(
                matches!(file.lookup(MIRRORED), Lookup::Found { credential, .. } if credential.password.expose() == PASSWORD.as_bytes())
            );
            claimed += 1;
        }
        claimed == pulls
    });
    for plugin in plugins {
        let ran = Ran::new(plugin.wait_with_output().unwrap(), false);
        assert!(ran.answered().1.starts_with("Wrote auth file to "));
    }
    assert_eq!(stage.left(), [""; 0]);
}

/// What is left of a pull that never came: a sweeper that everybody can look at, and that has nothing to show.
#[test]
fn the_sweeper_holds_nothing_and_the_file_goes_in_time() {
    let stage = Stage::with_secret_on_the_node();
    let plugin = stage.plugin_with_folder().args(&["--remove-unclaimed-after", "5"]);
    let ran = plugin.env("TOKEN", token(NAMESPACE)).ask();
    assert!(ran.answered().1.starts_with("Wrote auth file to "));
    until("a sweeper lives", || stage.sweepers().len() == 1);
    let (pid, line) = stage.sweepers().remove(0);
    let [auth, locks] = ["auth", "locks"].map(|name| stage.path(name).display().to_string());
    assert!(line.contains(&format!(" sweep --auth-dir {auth} --lock-dir {locks} ")), "{line}");
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap();
    assert_eq!(environment, b"");
    assert_no_canary(&line);
    assert_eq!(stage.users_for(&[MIRRORED]), [Some("puller".to_owned())]);
    until("the file is gone, though nobody came", || stage.left().is_empty());
    until("the sweeper is gone, too", || stage.sweepers().is_empty());
}

/// A script around the plugin may leave it the kubelet's pipe in a place where nobody looks for it. The kubelet reads until
/// nobody holds the pipe: the plugin is done, so it must be.
#[test]
fn the_sweeper_holds_no_descriptor_that_a_wrapper_left_open() {
    let stage = Stage::with_secret_on_the_node();
    let plugin = stage.plugin_with_folder();
    let mut wrapper = Command::new("sh");
    wrapper.args(["-c", "exec 3>&1 7>&2 \"$@\"", "sh"]);
    wrapper.arg(plugin.command.get_program()).args(plugin.command.get_args()).env_clear();
    let plugin = Plugin { command: wrapper, shows_credentials: false }.start(request(&token(NAMESPACE)));
    let (ended, has_ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || ended.send(plugin.wait_with_output()));
    // A minute, where the sweeper lives for five.
    let output =
        has_ended.recv_timeout(Duration::from_mins(1)).expect("both pipes end with the plugin").unwrap();
    assert!(Ran::new(output, false).answered().1.starts_with("Wrote auth file to "));
    let sweepers = stage.sweepers();
    assert_eq!(sweepers.len(), 1, "it is still there");
    let descriptors = fs::read_dir(format!("/proc/{}/fd", sweepers[0].0.as_raw_nonzero())).unwrap();
    let pipes = descriptors.filter(|entry| {
        let leads_to = fs::read_link(entry.as_ref().unwrap().path()).unwrap_or_default();
        leads_to.to_string_lossy().starts_with("pipe:")
    });
    assert_eq!(pipes.count(), 0);
}

/// Files that stay are credentials that stay.
#[test]
fn what_cannot_be_swept_is_told() {
    let stage = Stage::with_secret_on_the_node();
    let in_use = stage.auth_dir().join("in-use");
    DirBuilder::new().mode(0o700).create(stage.auth_dir()).unwrap();
    fs::create_dir(&in_use).unwrap();
    fs::set_permissions(&in_use, fs::Permissions::from_mode(0o777)).unwrap();
    let (ran, entries) = told(&stage, &request(&token(NAMESPACE)));
    assert!(ran.answered().1.starts_with("Wrote auth file to "), "{ran:?}");
    let warned: Vec<_> = entries
        .iter()
        .filter(|entry| entry["PRIORITY"] == "4")
        .map(|entry| entry["MESSAGE"].as_str())
        .collect();
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].starts_with("not swept: ") && warned[0].contains("in-use"), "{warned:?}");
}
