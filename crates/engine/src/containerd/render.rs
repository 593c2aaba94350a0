//! `registries.conf` as the files of `certs.d`, with what they cannot say.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::plan::plan;
use super::{Capabilities, Capability, CertsD, Folder, Host, HostsToml, folder_name, unsaid};
use crate::reference::{Dialect, is_domain};
use crate::registries::{RegistriesConf, Registry};
use pullwright_findings::Finding;
use pullwright_golang::quote::quote;

/// The first line of each file, by which a later run knows its own.
pub const HEADER: &str = "# Written by pullwright from registries.conf; change that file instead.";

/// The files, and what does not hold on a node that has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The texts by path below `certs.d`: `docker.io/hosts.toml`.
    pub files: BTreeMap<String, String>,
    /// What cannot be said to containerd, with what happens instead. Places are those of the merged `registries.conf`.
    pub findings: Vec<Finding>,
}

/// Renders the configuration for containerd: a file for each host that an entry names, and for each of `hosts`, which
/// wildcards may be about.
///
/// A host without a file is asked as containerd always does. There is never a `_default`: no entry of
/// `registries.conf` is about all registries.
#[must_use]
pub fn render(conf: &RegistriesConf, hosts: &[String]) -> Rendered {
    let certs = planned(conf, hosts);
    let mut files = BTreeMap::new();
    for (folder, content) in certs.folders() {
        if let Folder::Hosts(file) = content {
            files.insert(format!("{folder}/hosts.toml"), text(file));
        }
    }
    Rendered { files, findings: unsaid::findings(conf, &certs, hosts, unsaid::Runtime::Containerd) }
}

/// The folders as containerd will have them.
pub(super) fn planned(conf: &RegistriesConf, hosts: &[String]) -> CertsD {
    let mut certs = CertsD::default();
    for (host, below) in by_host(conf, hosts) {
        let file = plan(conf, &host, &below);
        let folder = folder_name(&host);
        let without = certs.endpoints(&host);
        certs.insert_read(folder.clone(), file);
        if certs.endpoints(&host) == without {
            certs.remove(&folder);
        }
    }
    certs
}

/// The hosts that entries name, each with the entries for paths in it.
pub(super) fn by_host<'c>(conf: &'c RegistriesConf, hosts: &[String]) -> BTreeMap<String, Vec<&'c Registry>> {
    let mut found: BTreeMap<String, Vec<&Registry>> =
        hosts.iter().map(|host| (host.clone(), Vec::new())).collect();
    for registry in conf.registries() {
        let host = registry.prefix.split('/').next().unwrap_or_default();
        // Others match no image.
        if is_domain(Dialect::Runtime, host) {
            let below = found.entry(host.to_owned()).or_default();
            if registry.prefix != host {
                below.push(registry);
            }
        }
    }
    found
}

fn text(file: &HostsToml) -> String {
    let mut out = format!("{HEADER}\n");
    // Writing into a String cannot fail.
    let _ = writeln!(out, "server = {}", quote(&url(&file.server)));
    settings(&mut out, "", &file.server);
    for host in &file.hosts {
        let _ = write!(out, "\n[host.{}]\n", quote(&url(host)));
        settings(&mut out, "  ", host);
    }
    out
}

fn settings(out: &mut String, indent: &str, host: &Host) {
    if host.capabilities != Capabilities::ALL {
        let capabilities: Vec<_> = host.capabilities.iter().map(Capability::as_str).map(quote).collect();
        let _ = writeln!(out, "{indent}capabilities = [{}]", capabilities.join(", "));
    }
    if let Some(skip) = host.skip_verify {
        let _ = writeln!(out, "{indent}skip_verify = {skip}");
    }
    if host.path != "/v2" {
        let _ = writeln!(out, "{indent}override_path = true");
    }
}

/// The host as it is written: with a path only where it is not the usual one.
pub(super) fn url(host: &Host) -> String {
    let path = if host.path == "/v2" { "" } else { &host.path };
    format!("{}://{}{path}", host.scheme, host.host)
}
