//! The workspace as it is, and `cargo xtask test` as another user runs it, with a cargo that only pretends.

#![expect(clippy::unwrap_used, reason = "a test says no by a panic")]

mod dependencies;

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
    process::Command,
};

/// Tiers that make namespaces, mounts and cgroups.
const NEED_ROOT: [&str; 8] = [
    "plugin and image service on a node",
    "node with containerd",
    "plugin on a node with containerd",
    "image service and containerd",
    "operator and agent on a node with containerd",
    "node with CRI-O",
    "plugin on a node with CRI-O",
    "operator and agent on a node with CRI-O",
];
/// A user that owns nothing.
const NOBODY: u32 = 65534;

#[test]
fn the_table_says_of_each_tier_that_needs_root_that_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("xtask");
    // The workspace may be where nobody else can look.
    fs::copy(env!("CARGO_BIN_EXE_xtask"), &program).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let root = fs::metadata("/proc/self").map(|process| std::os::unix::fs::MetadataExt::uid(&process) == 0);
    let mut xtask = Command::new(program);
    if root.unwrap() {
        xtask.uid(NOBODY).gid(NOBODY);
    }
    // With nothing in its path, it can neither build nor install.
    let cargo = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/cargo.sh");
    xtask.arg("test").env_clear().env("CARGO", cargo);
    let ran = xtask.env("PATH", folder.path()).env("XDG_CACHE_HOME", folder.path()).output().unwrap();

    let said = String::from_utf8(ran.stdout).unwrap();
    let (_, table) = said.split_once("\ntier ").expect(&said);
    for tier in NEED_ROOT {
        let row = table.lines().find(|line| line.starts_with(&format!("{tier}  "))).expect(tier);
        assert!(row.contains("not run: needs root"), "{row}");
    }
    assert_eq!(table.matches("needs root").count(), NEED_ROOT.len(), "{table}");
}
