//! Nothing below another root leads out of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use pullwright_engine::registries::LoaderEnv;
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
}

#[test]
fn what_is_not_utf_8_is_refused_with_its_place() {
    let node = tempfile::tempdir().unwrap();
    let root = NodeRoot::at(node.path()).unwrap();
    for (content, place) in [
        (&b"\xe9"[..], "line 1, column 1"),
        ("# ü\nlocation = \"caf".as_bytes(), ""),
        (b"# \xc3\xbc\nlocation = \"caf\xe9\"\n", "line 2, column 16"),
        (b"\xc3\xbc\xc3", "line 1, column 2"),
        (b"a\n\xff\n", "line 2, column 1"),
    ] {
        fs::write(node.path().join("file"), content).unwrap();
        match root.read_text(Path::new("/file")) {
            Ok(_) => assert_eq!(place, ""),
            Err(error) => assert_eq!(error.to_string(), format!("not UTF-8 text at {place}")),
        }
    }
}

/// `ln -s /dev/null` is how a file of the vendor is masked. A copy of a node's files has no devices.
#[test]
fn a_link_to_dev_null_is_an_empty_file_as_on_the_node() {
    let node = tempfile::tempdir().unwrap();
    let etc = node.path().join("etc/containers");
    fs::create_dir_all(&etc).unwrap();
    fs::create_dir_all(node.path().join("usr/share/containers")).unwrap();
    fs::write(node.path().join("usr/share/containers/registries.conf"), "short-name-mode = 'x'\n").unwrap();
    symlink("/dev/null", etc.join("registries.conf")).unwrap();
    symlink("registries.conf", etc.join("again.conf")).unwrap();
    symlink("../../dev/null", etc.join("relative.conf")).unwrap();
    symlink("/dev/zero", etc.join("zero.conf")).unwrap();
    symlink("/dev/null/x", etc.join("below.conf")).unwrap();
    symlink("loop.conf", etc.join("loop.conf")).unwrap();
    let root = NodeRoot::at(node.path()).unwrap();
    let read = |name: &str| root.read_text(&Path::new("/etc/containers").join(name));
    for name in ["registries.conf", "again.conf", "relative.conf"] {
        assert_eq!(read(name).unwrap(), "", "{name}");
    }
    for name in ["zero.conf", "below.conf", "loop.conf", "none.conf"] {
        assert!(read(name).is_err(), "{name}");
    }
    // It is there, so the vendor's file does not count.
    let loaded = root.registries(&LoaderEnv::default()).unwrap();
    assert_eq!(loaded.files(), [Path::new("/etc/containers/registries.conf")]);
    assert_eq!(NodeRoot::this_machine().read(Path::new("/dev/null")).unwrap(), b"");
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
