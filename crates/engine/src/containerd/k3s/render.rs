//! Translates `registries.conf` into a `registries.yaml`, and reports what that cannot express.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::{Value, json};

use super::super::plan::plan;
use super::super::render::{HEADER, by_host, url};
use super::super::{Capability, Host, Scheme, unsupported};
use super::Registries;
use crate::reference::contacted_host;
use crate::registries::RegistriesConf;
use pullwright_findings::Finding;
use pullwright_golang::quote::quote;

/// The file, and what is different on a node that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The text of `/etc/rancher/k3s/registries.yaml`, without the credentials that the node's own file may have.
    pub text: String,
    /// Settings that K3s cannot express, and what happens instead. Paths refer to the merged `registries.conf`.
    pub findings: Vec<Finding>,
}

/// Renders the configuration for K3s: the mirrors of each registry that an entry names, and of each of `hosts`, which
/// wildcards may match.
#[must_use]
pub fn render(conf: &RegistriesConf, hosts: &[String]) -> Rendered {
    let file = File::new(conf, hosts);
    let findings = match Registries::read(&file.value()) {
        Ok(read) => unsupported::findings(conf, &read.certs_d(), hosts, unsupported::TargetRuntime::K3s),
        // Cannot happen: the types are the expected ones.
        Err(_) => Vec::new(),
    };
    Rendered { text: file.text(), findings }
}

/// The content of the file.
pub(in super::super) struct File {
    /// The endpoints of each registry.
    mirrors: BTreeMap<String, Vec<String>>,
    /// The hosts for which any certificate is accepted.
    insecure: BTreeSet<String>,
}

impl File {
    pub(in super::super) fn new(conf: &RegistriesConf, hosts: &[String]) -> Self {
        let mut made = Self { mirrors: BTreeMap::new(), insecure: BTreeSet::new() };
        for registry in by_host(conf, hosts).into_keys() {
            // Every mirror in the file is also asked by tag, so it must not contain mirrors of paths.
            let file = plan(conf, &registry, &[]);
            let last = Some(&file.server).filter(|server| {
                let is_default = server.scheme == Scheme::Https
                    && *server.host == *connected(&registry)
                    && server.path == "/v2";
                server.capabilities.has(Capability::Pull) && !is_default
            });
            let asked: Vec<&Host> = file.hosts.iter().chain(last).collect();
            let insecure = asked.iter().filter(|host| host.skip_verify == Some(true));
            made.insecure.extend(insecure.map(|host| host.host.clone()));
            if !asked.is_empty() {
                made.mirrors.insert(registry, asked.into_iter().map(url).collect());
            }
        }
        made
    }

    /// The value that the text represents.
    pub(in super::super) fn value(&self) -> Value {
        let mirror = |(registry, endpoints)| (registry, json!({ "endpoint": endpoints }));
        let mirrors: BTreeMap<_, _> = self.mirrors.iter().map(mirror).collect();
        let config = |host| (host, json!({ "tls": { "insecure_skip_verify": true } }));
        let configs: BTreeMap<_, _> = self.insecure.iter().map(config).collect();
        json!({ "mirrors": mirrors, "configs": configs })
    }

    fn text(&self) -> String {
        let mut out = format!("{HEADER}\n");
        // Writing into a String cannot fail.
        if !self.mirrors.is_empty() {
            out.push_str("mirrors:\n");
        }
        for (registry, endpoints) in &self.mirrors {
            let _ = writeln!(out, "  {}:\n    endpoint:", quote(registry));
            for endpoint in endpoints {
                let _ = writeln!(out, "      - {}", quote(endpoint));
            }
        }
        if !self.insecure.is_empty() {
            out.push_str("configs:\n");
        }
        for host in &self.insecure {
            let _ = writeln!(out, "  {}:\n    tls:\n      insecure_skip_verify: true", quote(host));
        }
        out
    }
}

fn connected(registry: &str) -> &str {
    contacted_host(registry)
}
