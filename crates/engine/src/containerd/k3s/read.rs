//! Reads `registries.yaml` as K3s does. Credentials in it are reported, but not copied.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::certs_d::DOCKER_HUB;
use super::super::decode::without_user;
use super::super::import::{Collected, all_registries};
use super::super::{Capability, CertsD, DEFAULT_FOLDER, Host, HostsToml, folder_name};
use super::endpoint::endpoint;
use super::rewrite::{Apart, Rewrite};
use super::value::{entries, list, map, refuse, text};
use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::quote::quote;

/// A file that K3s accepts.
#[derive(Debug, Clone, Default)]
pub struct Registries {
    /// The endpoints for the images of a registry, or of a path in it if names are rewritten.
    scopes: BTreeMap<String, HostsToml>,
    findings: Vec<Finding>,
}

/// The reason why K3s refuses a file. K3s then does not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct ReadError {
    /// The path in the document.
    pub at: DocPath,
    /// The type that K3s expects there.
    pub expected: &'static str,
}

/// The TLS settings of a host in `configs`.
#[derive(Debug, Clone, Default)]
struct Tls {
    skip_verify: bool,
    ca: Option<String>,
    client: Option<(String, String)>,
}

impl Registries {
    /// Reads the document, which is the parsed YAML.
    ///
    /// # Errors
    /// If a value has a type that K3s does not accept.
    pub fn read(document: &Value) -> Result<Self, ReadError> {
        let mut registries = Self::default();
        let root = DocPath::root();
        let file = map(document, &root)?;
        registries.unknown(&file, &["mirrors", "configs", "auths"], &root);
        let configs = registries.configs(file.get("configs"), &root.key("configs"))?;
        if file.get("auths").is_some_and(|auths| !auths.is_null()) {
            registries.findings.push(credentials(root.key("auths")));
        }
        for (registry, tls) in &configs {
            let server = server(registry, tls);
            registries
                .scopes
                .insert(registry.clone(), HostsToml { hosts: Vec::new(), server, findings: Vec::new() });
        }
        let at = root.key("mirrors");
        for (registry, mirror) in entries(file.get("mirrors"), &at)? {
            registries.mirror(registry, mirror, &configs, &at.key(registry))?;
            if registry == "docker.io" {
                // Its settings may be under the name of the host that is contacted; its mirrors already include them.
                registries.scopes.remove(DOCKER_HUB);
            }
        }
        Ok(registries)
    }

    /// Returns findings about what K3s silently accepts, and about secrets in the file.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Imports the file as mirror sets.
    #[must_use]
    pub fn import(&self) -> Collected {
        let mut collected = Collected::default();
        collected.begin("");
        for finding in &self.findings {
            collected.tell(finding.clone());
        }
        for (source, file) in &self.scopes {
            if source.starts_with('*') {
                collected.tell(all_registries(DocPath::root().key("mirrors").key("*")));
            } else {
                collected.add(source, file);
            }
        }
        collected
    }

    /// Returns the folders that K3s writes from the file, without the rewrites, which only its own containerd supports.
    #[must_use]
    pub fn certs_d(&self) -> CertsD {
        let mut certs = CertsD::default();
        for (source, file) in self.scopes.iter().filter(|(source, _)| !source.contains('/')) {
            let folder = if source == "*" { DEFAULT_FOLDER.to_owned() } else { folder_name(source) };
            certs.insert_read(folder, file.clone());
        }
        certs
    }

    fn configs(&mut self, value: Option<&Value>, at: &DocPath) -> Result<BTreeMap<String, Tls>, ReadError> {
        let mut configs = BTreeMap::new();
        for (host, config) in entries(value, at)? {
            let at = at.key(host);
            let config = map(config, &at)?;
            self.unknown(&config, &["auth", "tls"], &at);
            if config.get("auth").is_some_and(|auth| !auth.is_null()) {
                self.findings.push(credentials(at.key("auth")));
            }
            let at = at.key("tls");
            let tls: Map<String, Value> =
                entries(config.get("tls"), &at)?.map(|(key, value)| (key.clone(), value.clone())).collect();
            self.unknown(&tls, &["ca_file", "cert_file", "key_file", "insecure_skip_verify"], &at);
            let file = |key: &str| text(tls.get(key), &at.key(key));
            let (cert, key) = (file("cert_file")?, file("key_file")?);
            let client = match (cert, key) {
                (None, None) => None,
                (cert, key) => Some((cert.unwrap_or_default(), key.unwrap_or_default())),
            };
            let skip_verify = match tls.get("insecure_skip_verify") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(skip)) => *skip,
                Some(_) => return Err(refuse(at.key("insecure_skip_verify"), "true or false")),
            };
            configs.insert(host.clone(), Tls { skip_verify, ca: file("ca_file")?, client });
        }
        Ok(configs)
    }

    fn mirror(
        &mut self,
        registry: &str,
        value: &Value,
        configs: &BTreeMap<String, Tls>,
        at: &DocPath,
    ) -> Result<(), ReadError> {
        let mirror = map(value, at)?;
        self.unknown(&mirror, &["endpoint", "rewrite"], at);
        let mut hosts = self.endpoints(&mirror, configs, &at.key("endpoint"))?;
        let Some(mut rewrites) = self.rewrites(&mirror, &at.key("rewrite"))? else { return Ok(()) };
        let server = server(registry, &of(configs, registry).cloned().unwrap_or_default());
        // If the registry itself is the last endpoint, it is removed: it is asked last anyway, and no name is rewritten for
        // it.
        let address = |host: &Host| (host.scheme.clone(), host.host.clone(), host.path.clone());
        hosts.pop_if(|last| address(last) == address(&server));
        if !rewrites.iter().any(|rewrite| rewrite.from.is_empty()) {
            rewrites.push(Rewrite::NONE);
        }
        for Rewrite { from, to } in &rewrites {
            let below = |name: &str| if name.is_empty() { String::new() } else { format!("/{name}") };
            let at = |host: &Host, name: &str| Host {
                path: format!("{}{}", host.path, below(name)),
                ..host.clone()
            };
            let hosts = hosts.iter().map(|host| at(host, to)).collect();
            let file = HostsToml { hosts, server: at(&server, from), findings: Vec::new() };
            self.scopes.insert(format!("{registry}{}", below(from)), file);
        }
        Ok(())
    }

    fn endpoints(
        &mut self,
        mirror: &Map<String, Value>,
        configs: &BTreeMap<String, Tls>,
        at: &DocPath,
    ) -> Result<Vec<Host>, ReadError> {
        let mut hosts = Vec::new();
        for (index, item) in list(mirror.get("endpoint"), at)?.iter().enumerate() {
            let at = at.index(index);
            let Some(address) = text(Some(item), &at)? else { continue };
            let Some((settings, host)) = endpoint(&address) else {
                self.findings.push(ignored_endpoint(&address, at));
                continue;
            };
            let capabilities = [Capability::Pull, Capability::Resolve].into_iter().collect();
            let tls = of(configs, &settings).cloned().unwrap_or_default();
            hosts.push(tls.applied(Host { at, capabilities, ..host }));
        }
        Ok(hosts)
    }

    /// Returns the rewrites, if each is a plain prefix and no two match the same names.
    fn rewrites(
        &mut self,
        mirror: &Map<String, Value>,
        at: &DocPath,
    ) -> Result<Option<Vec<Rewrite>>, ReadError> {
        let mut rewrites: Vec<Rewrite> = Vec::new();
        let mut apart = Apart::default();
        for (pattern, replacement) in entries(mirror.get("rewrite"), at)? {
            let at = at.key(pattern);
            let replacement = text(Some(replacement), &at)?.unwrap_or_default();
            match Rewrite::parse(pattern, &replacement) {
                Some(rewrite) if apart.insert(&rewrite) => rewrites.push(rewrite),
                _ => {
                    self.findings.push(unsupported_rewrite(pattern, at));
                    return Ok(None);
                }
            }
        }
        Ok(Some(rewrites))
    }

    fn unknown(&mut self, map: &Map<String, Value>, known: &[&str], at: &DocPath) {
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let message = format!("unknown key {} is ignored", quote(key));
            let finding = Finding::new(&rules::k3s::UNKNOWN_KEY, at.key(key), message);
            self.findings.push(finding.with_help(format!("known here: {}", known.join(", "))));
        }
    }
}

/// The registry itself, which K3s always asks last.
fn server(registry: &str, tls: &Tls) -> Host {
    let capabilities = [Capability::Pull, Capability::Resolve, Capability::Push].into_iter().collect();
    let host = match endpoint(registry) {
        Some((_, host)) if registry != "*" => Host { capabilities, ..host },
        _ => Host::named(""),
    };
    tls.applied(Host { at: DocPath::root().key("configs").key(registry).key("tls"), ..host })
}

impl Tls {
    fn applied(&self, host: Host) -> Host {
        Host {
            skip_verify: self.skip_verify.then_some(true),
            ca: self.ca.clone().map(|file| vec![file]),
            client: self.client.clone().map(|(file, key)| (file, Some(key))).into_iter().collect(),
            ..host
        }
    }
}

/// Returns the settings of a host. Those of Docker Hub may be under either of its names.
fn of<'c>(configs: &'c BTreeMap<String, Tls>, host: &str) -> Option<&'c Tls> {
    let connected = (host == "docker.io").then(|| configs.get(DOCKER_HUB)).flatten();
    connected.or_else(|| configs.get(host))
}

fn credentials(at: DocPath) -> Finding {
    Finding::new(&rules::k3s::CREDENTIALS, at, "credentials are not taken over into mirror sets")
}

fn ignored_endpoint(address: &str, at: DocPath) -> Finding {
    let message = format!("{} is not a usable address and is ignored", quote(&without_user(address)));
    Finding::new(&rules::k3s::ENDPOINT, at, message)
}

fn unsupported_rewrite(pattern: &str, at: DocPath) -> Finding {
    let message =
        format!("the rewrite {} cannot be written in a mirror set; its mirrors are left out", quote(pattern));
    Finding::new(&rules::k3s::REWRITE, at, message)
}
