//! Configures which registry mirrors which, in the format of each runtime.

use std::{fmt::Write as _, fs, io, path::Path};

use pullwright_engine::{containerd, registries::LoaderEnv};
use pullwright_nodefiles::NodeRoot;

use crate::{Error, error::Doing, registry::Registry};

/// The folder inside the node with containerd's configuration of mirrors.
pub(super) const HOSTS_FOLDER: &str = "/etc/containers/certs.d";

/// A source whose images are pulled from one of the node's registries.
#[derive(Clone, Copy, Debug)]
pub struct Mirror {
    /// The registry in the image's name.
    pub source: &'static str,
    /// The name of the registry that has the images.
    pub registry: &'static str,
}

/// Writes `registries.conf` into `files`, the node's own files below its root. `extra` are additional lines.
pub(super) fn write(
    files: &Path,
    registries: &[Registry],
    mirrors: &[Mirror],
    extra: &str,
) -> Result<(), Error> {
    let containers = files.join("etc/containers");
    let text = format!("{}\n{extra}", registries_conf(registries, mirrors));
    put(&containers.join("registries.conf"), &text)?;
    put(&containers.join("policy.json"), r#"{"default": [{"type": "insecureAcceptAnything"}]}"#)
}

/// Writes the part of `registries.conf` and its drop-in files, as they are in `files` now, that containerd can express.
pub(super) fn write_hosts(files: &Path) -> Result<(), Error> {
    let node = NodeRoot::at(files).doing("opening", files)?;
    let conf = node.registries(&LoaderEnv::default()).map_err(io::Error::other).doing("reading", files)?;
    let folder = files.join(HOSTS_FOLDER.trim_start_matches('/'));
    if folder.exists() {
        fs::remove_dir_all(&folder).doing("removing", &folder)?;
    }
    for (file, content) in containerd::render(&conf, &[]).files {
        put(&folder.join(file), &content)?;
    }
    Ok(())
}

fn put(path: &Path, content: &str) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).doing("creating", folder)?;
    fs::write(path, content).doing("writing", path)
}

/// The registries that mirror `source`, in order.
fn of<'r>(source: &str, registries: &'r [Registry], mirrors: &[Mirror]) -> Vec<&'r Registry> {
    let names = mirrors.iter().filter(|mirror| mirror.source == source).map(|mirror| mirror.registry);
    names.filter_map(|name| registries.iter().find(|registry| registry.name == name)).collect()
}

fn registries_conf(registries: &[Registry], mirrors: &[Mirror]) -> String {
    let mut text = "unqualified-search-registries = [\"docker.io\"]\n".to_owned();
    let mut sources: Vec<_> = mirrors.iter().map(|mirror| mirror.source).collect();
    sources.dedup();
    for source in sources {
        let _ = writeln!(text, "\n[[registry]]\nlocation = \"{source}\"");
        for registry in of(source, registries, mirrors) {
            let (address, insecure) = (registry.address(), !registry.tls);
            let _ = writeln!(text, "\n[[registry.mirror]]\nlocation = \"{address}\"\ninsecure = {insecure}");
        }
    }
    for registry in registries.iter().filter(|registry| !registry.tls) {
        let _ = writeln!(text, "\n[[registry]]\nlocation = \"{}\"\ninsecure = true", registry.address());
    }
    text
}
