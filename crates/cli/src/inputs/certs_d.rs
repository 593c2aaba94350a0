//! The folders of containerd's `certs.d` on a node.

use std::io;
use std::path::Path;

use super::{NodeFiles, unreadable};
use crate::diagnostic::Message;

/// Where containerd is told to look, by everything that installs it for Kubernetes.
pub(crate) const CERTS_D: &str = "/etc/containerd/certs.d";

/// The folders by name, each with its `hosts.toml` if it has one; none if there is no `certs.d`.
pub(crate) fn read(node: &NodeFiles) -> Result<Vec<(String, Option<String>)>, Message> {
    read_in(node, Path::new(CERTS_D))
}

/// The same, where containerd is told to look elsewhere.
pub(crate) fn read_in(node: &NodeFiles, certs_d: &Path) -> Result<Vec<(String, Option<String>)>, Message> {
    let mut names = match node.root.folders(certs_d) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(unreadable(&node.shown(certs_d), &error)),
    };
    names.sort_unstable();
    let mut folders = Vec::new();
    for name in names {
        let path = certs_d.join(&name).join("hosts.toml");
        folders.push((name.to_string_lossy().into_owned(), node.text(&path)?));
    }
    Ok(folders)
}
