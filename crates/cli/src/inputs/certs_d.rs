//! The folders of containerd's `certs.d` on a node.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::{NodeFiles, unreadable};
use crate::diagnostic::Message;

/// Where containerd is told to look, by everything that installs it for Kubernetes.
pub(crate) const CERTS_D: &str = "/etc/containerd/certs.d";

/// The `hosts.toml` of a folder, if it has one, and why it cannot be read.
pub(crate) type Text = Result<Option<String>, Message>;

/// The folders by name, each with its `hosts.toml` if it has one; none if there is no `certs.d`.
pub(crate) fn read(node: &NodeFiles) -> Result<Vec<(String, Option<String>)>, Message> {
    read_in(node, Path::new(CERTS_D))?.into_iter().map(|(name, text)| Ok((name, text?))).collect()
}

/// The same, where containerd is told to look elsewhere, and whatever becomes of each.
pub(crate) fn read_in(node: &NodeFiles, certs_d: &Path) -> Result<Vec<(String, Text)>, Message> {
    let mut names = match node.root.folders(certs_d) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(unreadable(&node.shown(certs_d), &error)),
    };
    names.sort_unstable();
    let text = |name: &OsString| node.text(&certs_d.join(name).join("hosts.toml"));
    Ok(names.into_iter().map(|name| (name.to_string_lossy().into_owned(), text(&name))).collect())
}
