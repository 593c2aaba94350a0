//! Translates `registries.conf` into the files of `certs.d`, and reports what they cannot express.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::plan::plan;
use super::{Capabilities, Capability, CertsD, Folder, Host, HostsToml, folder_name, unsupported};
use crate::reference::{Dialect, is_domain};
use crate::registries::{RegistriesConf, Registry};
use crate::toml_text::{list, string};
use pullwright_findings::Finding;

/// The first line of each file, by which a later run recognizes its own files.
pub const HEADER: &str = "# Written by pullwright from registries.conf; change that file instead.";

/// The files, and what is different on a node that has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The files by path below `certs.d`: `docker.io/hosts.toml`.
    pub files: BTreeMap<String, String>,
    /// Settings that containerd cannot express, and what happens instead. Paths refer to the merged `registries.conf`.
    pub findings: Vec<Finding>,
}

/// Renders the configuration for containerd: a file for each host that an entry names, and for each of `hosts`, which
/// wildcards may match.
///
/// containerd treats a host without a file as usual. There is never a `_default`: no entry of `registries.conf` applies to
/// all registries.
#[must_use]
pub fn render(conf: &RegistriesConf, hosts: &[String]) -> Rendered {
    let certs = planned(conf, hosts);
    let mut files = BTreeMap::new();
    for (folder, content) in certs.folders() {
        if let Folder::Hosts(file) = content {
            files.insert(format!("{folder}/hosts.toml"), text(file));
        }
    }
    Rendered {
        files,
        findings: unsupported::findings(conf, &certs, hosts, unsupported::TargetRuntime::Containerd),
    }
}

/// Returns the folders as containerd will see them.
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

/// Returns the hosts that entries name, each with the entries for its paths.
pub(super) fn by_host<'c>(conf: &'c RegistriesConf, hosts: &[String]) -> BTreeMap<String, Vec<&'c Registry>> {
    let mut found: BTreeMap<String, Vec<&Registry>> =
        hosts.iter().map(|host| (host.clone(), Vec::new())).collect();
    for registry in conf.registries() {
        let host = registry.prefix.split('/').next().unwrap_or_default();
        // Other prefixes match no image.
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
    let _ = writeln!(out, "server = {}", string(&url(&file.server)));
    settings(&mut out, "", &file.server);
    for host in &file.hosts {
        let _ = write!(out, "\n[host.{}]\n", string(&url(host)));
        settings(&mut out, "  ", host);
    }
    out
}

fn settings(out: &mut String, indent: &str, host: &Host) {
    if host.capabilities != Capabilities::ALL {
        let capabilities = list(host.capabilities.iter().map(Capability::as_str));
        let _ = writeln!(out, "{indent}capabilities = {capabilities}");
    }
    if let Some(skip) = host.skip_verify {
        let _ = writeln!(out, "{indent}skip_verify = {skip}");
    }
    if host.path != "/v2" {
        let _ = writeln!(out, "{indent}override_path = true");
    }
}

/// Returns the host in the notation of the file: with a path only if it is not the usual one.
pub(super) fn url(host: &Host) -> String {
    let path = if host.path == "/v2" { "" } else { &host.path };
    format!("{}://{}{path}", host.scheme, host.host)
}
