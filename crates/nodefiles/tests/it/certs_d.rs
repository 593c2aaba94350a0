//! containerd's `certs.d`, with files that cannot be read.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use pullwright_nodefiles::{NodeRoot, RegistryFolder};

const CERTS_D: &str = "/etc/containerd/certs.d";

fn node() -> tempfile::TempDir {
    let node = tempfile::tempdir().unwrap();
    let folder = |name: &str| node.path().join("etc/containerd/certs.d").join(name);
    for name in ["quay.io", "quay.io_5000_", "docker.io", "_default"] {
        fs::create_dir_all(folder(name)).unwrap();
    }
    fs::write(folder("quay.io/hosts.toml"), "server = 'https://quay.io'").unwrap();
    fs::create_dir(folder("docker.io/hosts.toml")).unwrap();
    fs::write(folder("_default/hosts.toml"), "").unwrap();
    fs::write(folder("README"), "not a folder").unwrap();
    node
}

/// The folder's name with its text; an error by its kind.
fn shown(folder: RegistryFolder) -> (String, Result<Option<String>, ErrorKind>) {
    (folder.name, folder.text.map_err(|error| error.kind()))
}

#[test]
fn a_missing_file_and_an_unreadable_one_are_not_the_same() {
    let node = node();
    let root = NodeRoot::at(node.path()).unwrap();
    let folders: Vec<_> = root.certs_d(Path::new(CERTS_D)).unwrap().into_iter().map(shown).collect();
    assert_eq!(
        folders,
        [
            ("_default".to_owned(), Ok(Some(String::new()))),
            ("docker.io".to_owned(), Err(ErrorKind::IsADirectory)),
            ("quay.io".to_owned(), Ok(Some("server = 'https://quay.io'".to_owned()))),
            ("quay.io_5000_".to_owned(), Ok(None)),
        ]
    );
    let missing = root.certs_d(Path::new("/etc/certs.d")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn a_host_gets_its_own_folder_before_the_default() {
    let node = node();
    let root = NodeRoot::at(node.path()).unwrap();
    let of = |host: &str| root.certs_d_of(Path::new(CERTS_D), host).unwrap().map(shown).unwrap();
    assert_eq!(of("quay.io:5000"), ("quay.io_5000_".to_owned(), Ok(None)));
    assert_eq!(of("docker.io"), ("docker.io".to_owned(), Err(ErrorKind::IsADirectory)));
    assert_eq!(of("ghcr.io"), ("_default".to_owned(), Ok(Some(String::new()))));
    assert!(root.certs_d_of(Path::new("/etc/certs.d"), "quay.io").unwrap().is_none());
    let endless = "a".repeat(300);
    assert!(root.certs_d_of(Path::new(CERTS_D), &endless).is_err(), "nobody knows whether it is there");
}
