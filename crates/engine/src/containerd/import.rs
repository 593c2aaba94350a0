//! The way back: what containerd's or K3s's files say, as mirror sets.

use std::collections::HashSet;

use super::asked::location;
use super::certs_d::DOCKER_HUB;
use super::connections::{Connection, insecure};
use super::{By, CertsD, Endpoint, Folder, Host, HostsToml, Role, folder_name, host_of_folder};
use crate::mirrors::{Kind, MirrorSet, RegistrySources, Rule, SourcePolicy, invalid_source, unusable_mirror};
use pullwright_findings::{DocPath, Finding};

/// What files became together. Mirrors by digest and by tag go into objects of two kinds, and what is about a registry and
/// not about its mirrors into `Image/cluster`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Rules of an `ImageDigestMirrorSet`.
    pub by_digest: Vec<Rule>,
    /// Rules of an `ImageTagMirrorSet`.
    pub by_tag: Vec<Rule>,
    /// What `Image/cluster` has to say for them to work.
    pub sources: RegistrySources,
    /// What could not be taken over, each with the number of the file that it is about: see [`Collected::files`].
    pub findings: Vec<(usize, Finding)>,
}

/// What has been read so far. What is insecure is known when everything has been.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    files: Vec<String>,
    imported: Imported,
    connections: Vec<Connection>,
    /// What has been said, to say it once.
    told: HashSet<(usize, Finding)>,
}

/// Takes over the folders of a node.
#[must_use]
pub fn import(certs: &CertsD) -> Collected {
    let mut collected = Collected::default();
    for (folder, content) in certs.folders() {
        collected.begin(folder);
        match (content, host_of_folder(folder)) {
            (Folder::Certificates, _) => {}
            (Folder::Refused(error), _) => collected.tell(error.finding()),
            (Folder::Hosts(_), None) => collected.tell(all_registries(DocPath::root())),
            (Folder::Hosts(_), Some(registry))
                if certs.folder_of(&registry).is_none_or(|used| used.0 != folder) =>
            {
                collected.tell(shadowed(&folder_name(&registry)));
            }
            (Folder::Hosts(file), Some(registry)) => {
                for finding in file.findings() {
                    collected.tell(finding.clone());
                }
                collected.add(&registry, file);
            }
        }
    }
    collected
}

/// Mirrors of whatever has none of its own.
pub(super) fn all_registries(at: DocPath) -> Finding {
    Finding::error(
        "import/all-registries",
        at,
        "mirrors for all registries cannot be written in a mirror set",
    )
    .with_help("name each registry that is used as a source")
}

impl Imported {
    /// The objects, under this name. A kind without rules has none.
    #[must_use]
    pub fn sets(&self, name: &str) -> Vec<MirrorSet> {
        let kinds = [(Kind::ImageDigestMirrorSet, &self.by_digest), (Kind::ImageTagMirrorSet, &self.by_tag)];
        let sets = kinds.into_iter().filter(|(_, rules)| !rules.is_empty());
        sets.map(|(kind, rules)| MirrorSet { kind, name: name.to_owned(), rules: rules.clone() }).collect()
    }
}

impl Collected {
    /// The files in the order of their numbers: each as the folder whose `hosts.toml` it is, a `registries.yaml` as
    /// nothing.
    #[must_use]
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Adds what other files became, which get the numbers after those that are there.
    pub fn extend(&mut self, other: Self) {
        let before = self.files.len();
        self.files.extend(other.files);
        self.imported.by_digest.extend(other.imported.by_digest);
        self.imported.by_tag.extend(other.imported.by_tag);
        let blocked = &mut self.imported.sources.blocked;
        blocked.extend(other.imported.sources.blocked);
        let mut seen = HashSet::new();
        blocked.retain(|host| seen.insert(host.clone()));
        let numbered = |(file, finding)| (before + file, finding);
        self.imported.findings.extend(other.imported.findings.into_iter().map(numbered));
        let numbered = |it: Connection| Connection { file: before + it.file, ..it };
        self.connections.extend(other.connections.into_iter().map(numbered));
    }

    /// All of it together.
    #[must_use]
    pub fn imported(self) -> Imported {
        let mut imported = self.imported;
        let (registries, findings) = insecure(&self.connections);
        imported.sources.insecure = registries;
        imported.findings.extend(findings);
        imported
    }

    /// What is added from here on is of this file.
    pub(super) fn begin(&mut self, folder: &str) {
        self.files.push(folder.to_owned());
    }

    fn file(&self) -> usize {
        self.files.len().saturating_sub(1)
    }

    /// Says something about the file, once: an endpoint may be for several paths.
    pub(super) fn tell(&mut self, finding: Finding) {
        let finding = (self.file(), finding);
        if self.told.insert(finding.clone()) {
            self.imported.findings.push(finding);
        }
    }

    /// Takes over what a file says about the images of `source`.
    pub(super) fn add(&mut self, source: &str, file: &HostsToml) {
        if let Some(finding) = invalid_source(source, DocPath::root) {
            return self.tell(finding);
        }
        let asked = self.asked(source, file);
        for (location, endpoint, at) in &asked {
            self.connections.push(Connection {
                location: location.clone(),
                insecure: endpoint.is_insecure(),
                source: source.to_owned(),
                file: self.file(),
                at: at.clone(),
            });
        }
        let [tag, digest] = [By::Tag, By::Digest].map(|by| Pulls::of(source, &asked, by));
        if tag.source_first || digest.source_first {
            self.tell(source_first(source));
        }
        if tag.contacts != digest.contacts {
            self.tell(one_policy(source));
        }
        let never = !(tag.contacts && digest.contacts);
        let imported = &mut self.imported;
        if never && tag.mirrors.is_empty() && digest.mirrors.is_empty() {
            imported.sources.blocked.push(source.to_owned());
        }
        let policy = never.then_some(SourcePolicy::NeverContactSource);
        for (rules, mirrors) in
            [(&mut imported.by_digest, digest.mirrors), (&mut imported.by_tag, tag.mirrors)]
        {
            if !mirrors.is_empty() {
                rules.push(Rule { source: source.to_owned(), mirrors, policy });
            }
        }
    }

    /// Who is asked for the images of `source`, as far as an object can say it, each with its place in the file.
    fn asked(&mut self, source: &str, file: &HostsToml) -> Vec<(String, Endpoint, DocPath)> {
        let registry = source.split('/').next().unwrap_or_default();
        let endpoints = file.endpoints(registry);
        let mut asked = Vec::new();
        for (endpoint, host) in endpoints.into_iter().zip(file.hosts.iter().chain([&file.server])) {
            if let Some(finding) = left_behind(host) {
                self.tell(finding);
            }
            if !endpoint.serves(By::Digest) {
                continue;
            }
            match location(&endpoint) {
                // Docker Hub has two names, and images may be asked for by either.
                Some(location) if location == source.replacen(DOCKER_HUB, "docker.io", 1) => {
                    asked.push((source.to_owned(), endpoint, host.at.clone()));
                }
                Some(location) => match unusable_mirror(&location, source, || host.at.clone()) {
                    None => asked.push((location, endpoint, host.at.clone())),
                    Some(finding) => self.tell(finding),
                },
                None if endpoint.role == Role::Server || host.is_usable() => {
                    self.tell(no_location(&endpoint, host.at.clone()));
                }
                // Told when the file was read.
                None => {}
            }
        }
        asked
    }
}

/// What is asked in pulls of one kind.
struct Pulls {
    mirrors: Vec<String>,
    /// Whether the source itself is asked.
    contacts: bool,
    /// Whether it is asked before one of the mirrors.
    source_first: bool,
}

impl Pulls {
    fn of(source: &str, asked: &[(String, Endpoint, DocPath)], by: By) -> Self {
        let mut pulls = Self { mirrors: Vec::new(), contacts: false, source_first: false };
        let mut seen = HashSet::new();
        for (location, ..) in asked.iter().filter(|(_, endpoint, _)| endpoint.serves(by)) {
            if location == source {
                pulls.contacts = true;
            } else if seen.insert(location) {
                pulls.source_first |= pulls.contacts;
                pulls.mirrors.push(location.clone());
            }
        }
        pulls
    }
}

/// What a mirror set has no words for.
fn left_behind(host: &Host) -> Option<Finding> {
    let settings = [
        ("ca", host.ca.as_ref().is_some_and(|files| !files.is_empty())),
        ("client", !host.client.is_empty()),
        ("header", !host.header.is_empty()),
        ("dial_timeout", host.dial_timeout.is_some()),
    ];
    let names: Vec<_> = settings.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| *name).collect();
    if names.is_empty() {
        return None;
    }
    let message = format!("mirror sets have nothing for {}", names.join(", "));
    let help = if names == ["ca"] {
        "put the authorities into the ConfigMap of spec.additionalTrustedCA in Image/cluster"
    } else {
        "certificates belong into a folder of the host below /etc/containers/certs.d; headers and timeouts have no place"
    };
    Some(Finding::warning("import/settings", host.at.clone(), message).with_help(help))
}

/// Two folders may be named after one host.
fn shadowed(other: &str) -> Finding {
    let message = format!("containerd does not read this file: the folder {other} counts before");
    Finding::warning("import/shadowed", DocPath::root(), message).with_help("keep one of the two folders")
}

fn no_location(endpoint: &Endpoint, at: DocPath) -> Finding {
    let message = format!("{endpoint} is left out: the images of a mirror are below /v2");
    Finding::error("import/path", at, message)
        .with_help("ask the registry's operator for an address below /v2")
}

fn source_first(source: &str) -> Finding {
    let message = format!("{source} is asked before its mirrors, in a mirror set after them");
    Finding::warning("import/source-first", DocPath::root(), message)
        .with_help("remove it from the hosts if the mirrors shall be asked first")
}

fn one_policy(source: &str) -> Finding {
    let message = format!(
        "{source} is asked by digest or by tag and not by the other; a mirror set can only forbid both, and does"
    );
    Finding::warning("import/one-policy", DocPath::root(), message)
        .with_help("remove mirrorSourcePolicy where the source may be asked")
}
