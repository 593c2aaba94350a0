//! Finds settings in a `hosts.toml` that containerd accepts but that are most likely mistakes.

use std::collections::HashSet;

use super::decode::{FILE_KEYS, HOST_KEYS, without_user};
use super::{Host, Scheme};
use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::quote::quote;

/// Reports a key that containerd ignores.
pub(super) fn unknown_key(key: &str, is_file: bool, at: DocPath) -> Finding {
    let finding =
        Finding::new(&rules::containerd::UNKNOWN_KEY, at, format!("unknown key {} is ignored", quote(key)));
    let plain = |text: &str| text.replace(['_', '-'], "").to_lowercase();
    let known = || FILE_KEYS.iter().filter(|_| is_file).chain(HOST_KEYS);
    finding.with_help(match known().find(|name| plain(name) == plain(key)) {
        Some(name) => format!("did you mean {}?", quote(name)),
        None if key == "rewrite" => {
            "only the containerd of K3s and RKE2 rewrites names, as their registries.yaml says".to_owned()
        }
        // In TOML, everything after a table header belongs to the table.
        None if key == "server" => "put it before the first table: here it belongs to this host".to_owned(),
        None if key == "host" => {
            "hosts of a host are not supported; list them in the order to ask".to_owned()
        }
        None => {
            let names: Vec<_> = known().copied().collect();
            format!("known here: {}", names.join(", "))
        }
    })
}

/// Checks one host. `again` is true if an earlier table has the same host.
pub(super) fn host(name: &str, host: &Host, again: bool, override_path: bool, findings: &mut Vec<Finding>) {
    let at = &host.at;
    if !host.is_usable() {
        findings.push(unusable(name, &host.scheme, at.clone()));
    } else if again {
        let message = format!("{} is asked twice", quote(&without_user(name)));
        findings.push(Finding::new(&rules::containerd::HOST_TWICE, at.clone(), message));
    } else if !override_path && !["/v2", "//v2"].contains(&host.path.as_str()) && !name.ends_with("/v2") {
        let path = host.path.strip_suffix("/v2").unwrap_or(&host.path);
        let (scheme, host) = (&host.scheme, &host.host);
        let message = format!("containerd asks for images below {scheme}://{host}{path}/v2");
        let finding = Finding::new(&rules::containerd::PATH_BEFORE_V2, at.clone(), message);
        findings.push(finding.with_help(format!(
            "if they are below {path} in the registry, write {} and override_path = true",
            quote(&format!("{scheme}://{host}/v2{path}"))
        )));
    }
}

/// Checks the server, which containerd asks last.
pub(super) fn server(name: &str, server: &Host, has_capabilities: bool, findings: &mut Vec<Finding>) {
    let root = DocPath::root();
    if !name.is_empty() && !server.is_usable() {
        findings.push(unusable(name, &server.scheme, root.key("server")));
    }
    if server.host.is_empty() && has_capabilities {
        let message =
            "without a server these capabilities are ignored: the registry may be asked for everything";
        findings.push(Finding::new(
            &rules::containerd::CAPABILITIES_IGNORED,
            root.key("capabilities"),
            message,
        ));
    }
}

/// Reports hosts that containerd never asks.
pub(super) fn file<'a>(
    asked: &HashSet<&str>,
    tables: impl Iterator<Item = &'a str>,
    findings: &mut Vec<Finding>,
) {
    for name in tables.filter(|name| !asked.contains(name)) {
        let at = DocPath::root().key("host").key(name);
        let message = format!(
            "{} is never asked: containerd asks hosts with a table of their own",
            quote(&without_user(name))
        );
        let finding = Finding::new(&rules::containerd::HOST_IGNORED, at, message);
        findings.push(finding.with_help(format!("write it as [host.{}]", quote(&without_user(name)))));
    }
}

fn unusable(name: &str, scheme: &Scheme, at: DocPath) -> Finding {
    let why = match scheme {
        Scheme::Other(scheme) if !scheme.is_empty() => {
            format!("{} is not a scheme that containerd can use", quote(scheme))
        }
        _ => "it has no host".to_owned(),
    };
    let message = format!("{} cannot be asked: {why}", quote(&without_user(name)));
    Finding::new(&rules::containerd::UNUSABLE_HOST, at, message)
}
