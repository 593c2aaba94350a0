//! The files of a node that has containerd: each on its own, and together with `registries.conf`.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use pullwright_documents::Text;
use pullwright_engine::containerd::{CertsD, Daemon, Disagreement, HostsToml, disagreements, folder_name};
use pullwright_findings::{Finding, rules};

use super::report::Checked;
use super::{FileKind, check};
use crate::args;
use crate::diagnostic::Message;
use crate::inputs::{NodeFiles, RegistryFolder, hosts_toml};

const CONFIG: &str = "/etc/containerd/config.toml";

/// Checks what there is. With a `registries.conf`, which says what is meant, the folders must mean the same.
pub(super) fn check(node: &NodeFiles, has_registries_conf: bool) -> Result<Vec<Checked>, Message> {
    let mut checked = Vec::new();
    let config = node.text(Path::new(CONFIG)).unwrap_or_else(|message| {
        let path = node.shown(Path::new(CONFIG));
        checked.push(Checked::new(path, FileKind::ContainerdConfig, vec![message]));
        None
    });
    let daemon = config.as_deref().map_or_else(Daemon::default, Daemon::read);
    let folders = node.certs_d(&daemon.certs_d)?;
    if config.is_none() && folders.is_empty() {
        return Ok(checked);
    }
    let mut certs = CertsD::default();
    for RegistryFolder { name, text, .. } in &folders {
        // containerd goes on without a file that it cannot read.
        certs.insert(name, text.as_ref().ok().and_then(Option::as_deref));
    }
    // What is wrong with registries.conf is told there.
    let conf = node.registries(&args::NodeArguments::default()).ok().filter(|_| has_registries_conf);
    let mut different: BTreeMap<Option<String>, Vec<Disagreement>> = BTreeMap::new();
    for found in conf.map(|conf| disagreements(&conf, &certs)).unwrap_or_default() {
        different.entry(found.folder.clone()).or_default().push(found);
    }
    // Where no hosts.toml is, it does not matter whether one would be read.
    if let Some(text) = config.filter(|_| !folders.is_empty()) {
        checked.push(check::file(FileKind::ContainerdConfig, node.shown(Path::new(CONFIG)), text));
    }
    for RegistryFolder { name: folder, path, text } in folders {
        let path = node.shown(&path);
        let (text, unread) = text.map_or_else(|message| (None, Some(message)), |text| (text, None));
        let has_file = text.is_some();
        let text = Text::new(text.unwrap_or_default());
        let file = hosts_toml::file(&path, &text);
        let mut messages: Vec<_> = unread.into_iter().chain(hosts_toml::check(&file)).collect();
        let mut findings = missing_files(node, &daemon.certs_d.join(&folder), &text)?;
        findings.extend(different.remove(&Some(folder)).into_iter().flatten().map(|found| found.finding));
        messages.extend(hosts_toml::messages(&file, &findings));
        if has_file || !messages.is_empty() {
            checked.push(Checked::new(path, FileKind::HostsToml, messages));
        }
    }
    // What is left is about hosts that have no folder.
    for Disagreement { host, finding, .. } in different.into_values().flatten() {
        let path = node.shown(&daemon.certs_d.join(folder_name(&host)).join("hosts.toml"));
        checked.push(Checked::new(path, FileKind::HostsToml, vec![Message::from(&finding)]));
    }
    Ok(checked)
}

/// Certificates that are not there. containerd then fails every pull of the registry, also from its other hosts.
fn missing_files(node: &NodeFiles, folder: &Path, text: &str) -> Result<Vec<Finding>, Message> {
    let Ok(hosts) = HostsToml::parse(text) else { return Ok(Vec::new()) };
    let mut findings = Vec::new();
    let mut listed: HashMap<PathBuf, HashSet<String>> = HashMap::new();
    for host in hosts.hosts.iter().chain([&hosts.server]) {
        let ca = host.ca.iter().flatten().map(|file| ("ca", file));
        let client = host.client.iter().flat_map(|(file, key)| std::iter::once(file).chain(key));
        for (field, file) in ca.chain(client.filter(|file| !file.is_empty()).map(|file| ("client", file))) {
            let path = folder.join(file);
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let names = match listed.entry(parent.to_owned()) {
                Entry::Occupied(names) => names.into_mut(),
                Entry::Vacant(new) => new.insert(node.names(parent)?.into_iter().flatten().collect()),
            };
            if !names.contains(&*name.to_string_lossy()) {
                let message =
                    format!("every pull of this registry fails: there is no file {}", path.display());
                findings.push(Finding::new(&rules::containerd::MISSING_FILE, host.at.key(field), message));
            }
        }
    }
    Ok(findings)
}
