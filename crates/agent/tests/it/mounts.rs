//! Real file systems that are full, read only, or mounted over a file.

use std::process::Command;

use crate::agent::a;
use crate::stage::Stage;

/// Runs the agent after `mount` in a namespace of its own: its error. The files that it was not to change are as before.
fn refused(deed: &str, stage: &Stage, mount: &str) -> String {
    // The exit code tells a mount that is not allowed here (9) from an agent that did not fail (8).
    let script = format!(
        "cd \"$ROOT\" || exit 9; {mount}; \
         find . -path ./var/lib/pullwright -prune -o -type f -exec cksum {{}} + -o -print | sort > \"$LOG.before\"; \
         \"$@\" && exit 8; \
         find . -path ./var/lib/pullwright -prune -o -type f -exec cksum {{}} + -o -print | sort > \"$LOG.after\"; \
         cmp \"$LOG.before\" \"$LOG.after\" && grep -q '\"switch\":null' var/lib/pullwright/journal.json"
    );
    let logs = tempfile::tempdir().unwrap();
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["agent", deed])
        .arg(stage.root())
        .env("ROOT", stage.root())
        .env("LOG", logs.path().join("log"))
        .output()
        .expect("unshare (package util-linux) is installed");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert!(ran.status.success(), "{:?}: {} {}", ran.status, text(&ran.stderr), text(&ran.stdout));
    text(&ran.stderr)
}

pub(crate) fn a_full_disk_changes_nothing() {
    let stage = Stage::new();
    // No space for the state.
    let error = refused("a", &stage, "mount -t tmpfs -o size=40k,mode=755 none var/lib || exit 9");
    assert!(error.starts_with("cannot write /var/lib/pullwright/contents/"), "{error}");
    assert!(error.ends_with("No space left on device (os error 28): free some space on the node"), "{error}");
    // Space for the state, none where the file belongs.
    let mount = "mkdir usr && mount -t tmpfs -o size=40k,mode=755 none usr || exit 9";
    let error = refused("a", &stage, mount);
    assert!(error.starts_with("cannot write /usr/libexec/plugin: No space left"), "{error}");
    assert!(error.ends_with("; every file that was switched is back"), "{error}");
    stage.switch("a", &a()).unwrap();
}

pub(crate) fn a_read_only_folder_changes_nothing() {
    let stage = Stage::new();
    let read_only = "mount --bind etc etc && mount -o remount,bind,ro etc || exit 9";
    let error = refused("a", &stage, read_only);
    assert!(error.starts_with("cannot make the folder /etc/gone: Read-only file system"), "{error}");
    assert!(error.ends_with("must be writable there; every file that was switched is back"), "{error}");
    stage.switch("a", &a()).unwrap();
    let error = refused("b", &stage, read_only);
    assert!(error.ends_with("must be writable there; every file that was switched is back"), "{error}");
}

pub(crate) fn a_file_that_is_mounted_is_refused() {
    let stage = Stage::new();
    let error = refused("a", &stage, "mount --bind etc/others.conf etc/registries.conf || exit 9");
    let expected =
        "/etc/registries.conf is a mount point, so it cannot be replaced: unmount it, or mount the folder";
    assert!(error.starts_with(expected), "{error}");
}
