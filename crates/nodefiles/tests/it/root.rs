//! Nothing below another root leads out of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use pullwright_nodefiles::NodeRoot;

#[test]
fn an_absolute_link_is_one_of_the_node() {
    let node = tempfile::tempdir().unwrap();
    fs::create_dir_all(node.path().join("etc/containers")).unwrap();
    fs::write(node.path().join("etc/real.conf"), "inside").unwrap();
    symlink("/etc/real.conf", node.path().join("etc/containers/registries.conf")).unwrap();
    symlink("../../../../../../../../etc/hostname", node.path().join("etc/escape")).unwrap();
    let root = NodeRoot::at(node.path()).unwrap();
    assert_eq!(root.read_text(Path::new("/etc/containers/registries.conf")).unwrap(), "inside");
    let escape = root.read(Path::new("/etc/escape")).unwrap_err();
    assert_eq!(escape.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn what_is_no_file_is_refused() {
    let node = tempfile::tempdir().unwrap();
    fs::create_dir(node.path().join("folder")).unwrap();
    rustix_mkfifo(&node.path().join("pipe"));
    let root = NodeRoot::at(node.path()).unwrap();
    assert_eq!(root.read(Path::new("/folder")).unwrap_err().kind(), std::io::ErrorKind::IsADirectory);
    assert_eq!(root.read(Path::new("/pipe")).unwrap_err().to_string(), "not a regular file");
    fs::write(node.path().join("latin1"), b"\xe9").unwrap();
    assert_eq!(root.read_text(Path::new("/latin1")).unwrap_err().to_string(), "not UTF-8 text");
}

#[test]
fn folders_and_the_rest_are_told_apart() {
    let node = tempfile::tempdir().unwrap();
    fs::create_dir(node.path().join("folder")).unwrap();
    fs::write(node.path().join("file"), "").unwrap();
    symlink("/folder", node.path().join("link")).unwrap();
    let root = NodeRoot::at(node.path()).unwrap();
    let sorted = |mut names: Vec<std::ffi::OsString>| {
        names.sort();
        names
    };
    assert_eq!(sorted(root.folders(Path::new("/")).unwrap()), ["folder", "link"]);
    assert_eq!(sorted(root.list(Path::new("/")).unwrap()), ["file", "link"]);
}

fn rustix_mkfifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}
