//! Turns containerd's or K3s's files into mirror sets.

use std::collections::HashSet;

use super::asked::location;
use super::certs_d::DOCKER_HUB;
use super::connections::{Connection, insecure};
use super::{
    By, CertsD, ContainerdEndpoint, EndpointRole, Folder, Host, HostsToml, folder_name, host_of_folder,
};
use crate::mirrors::{
    MirrorSet, MirrorSetKind, MirrorSetRule, RegistrySources, SourcePolicy, invalid_source, unusable_mirror,
};
use pullwright_findings::{DocPath, Finding, rules};

/// The combined result of an import. Mirrors by digest and by tag go into objects of two kinds, and settings of a registry
/// rather than of its mirrors go into `Image/cluster`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Rules of an `ImageDigestMirrorSet`.
    pub by_digest: Vec<MirrorSetRule>,
    /// Rules of an `ImageTagMirrorSet`.
    pub by_tag: Vec<MirrorSetRule>,
    /// The settings that `Image/cluster` needs for them to work.
    pub sources: RegistrySources,
    /// Findings about everything that could not be imported, each with the number of its file: see [`Collected::files`].
    pub findings: Vec<(usize, Finding)>,
}

/// The files read so far. Which registries are insecure is only known when all files have been read.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    files: Vec<String>,
    imported: Imported,
    connections: Vec<Connection>,
    /// The findings so far, to report each once.
    told: HashSet<(usize, Finding)>,
}

/// Imports the folders of a node.
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

/// Reports mirrors for all registries without mirrors of their own.
pub(super) fn all_registries(at: DocPath) -> Finding {
    let message = "mirrors for all registries cannot be written in a mirror set";
    Finding::new(&rules::import::ALL_REGISTRIES, at, message)
}

impl Imported {
    /// Returns the objects, all with this name. There is no object for a kind without rules.
    #[must_use]
    pub fn sets(&self, name: &str) -> Vec<MirrorSet> {
        let kinds = [
            (MirrorSetKind::ImageDigestMirrorSet, &self.by_digest),
            (MirrorSetKind::ImageTagMirrorSet, &self.by_tag),
        ];
        let sets = kinds.into_iter().filter(|(_, rules)| !rules.is_empty());
        sets.map(|(kind, rules)| MirrorSet { kind, name: name.to_owned(), rules: rules.clone() }).collect()
    }
}

impl Collected {
    /// Returns the files in the order of their numbers: each is the folder of a `hosts.toml`, or empty for a
    /// `registries.yaml`.
    #[must_use]
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Adds other files, which are numbered after the present ones.
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

    /// Combines everything.
    #[must_use]
    pub fn imported(self) -> Imported {
        let mut imported = self.imported;
        let (registries, findings) = insecure(&self.connections);
        imported.sources.insecure = registries;
        imported.findings.extend(findings);
        imported
    }

    /// Starts a file: everything that is added from here on belongs to it.
    pub(super) fn begin(&mut self, folder: &str) {
        self.files.push(folder.to_owned());
    }

    fn file(&self) -> usize {
        self.files.len().saturating_sub(1)
    }

    /// Reports a finding about the file, once: an endpoint may serve several paths.
    pub(super) fn tell(&mut self, finding: Finding) {
        let finding = (self.file(), finding);
        if self.told.insert(finding.clone()) {
            self.imported.findings.push(finding);
        }
    }

    /// Imports the settings of a file for the images of `source`.
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
                rules.push(MirrorSetRule { source: source.to_owned(), mirrors, policy });
            }
        }
    }

    /// Returns the endpoints for the images of `source` that an object can express, each with its path in the file.
    fn asked(&mut self, source: &str, file: &HostsToml) -> Vec<(String, ContainerdEndpoint, DocPath)> {
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
                // Docker Hub has two names, and images may be requested by either.
                Some(location) if location == source.replacen(DOCKER_HUB, "docker.io", 1) => {
                    asked.push((source.to_owned(), endpoint, host.at.clone()));
                }
                Some(location) => match unusable_mirror(&location, source, || host.at.clone()) {
                    None => asked.push((location, endpoint, host.at.clone())),
                    Some(finding) => self.tell(finding),
                },
                None if endpoint.role == EndpointRole::Server || host.is_usable() => {
                    self.tell(no_location(&endpoint, host.at.clone()));
                }
                // Reported when the file was read.
                None => {}
            }
        }
        asked
    }
}

/// The places that are asked in pulls of one kind.
struct Pulls {
    mirrors: Vec<String>,
    /// Whether the source itself is asked.
    contacts: bool,
    /// Whether the source is asked before one of the mirrors.
    source_first: bool,
}

impl Pulls {
    fn of(source: &str, asked: &[(String, ContainerdEndpoint, DocPath)], by: By) -> Self {
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

/// Reports settings that a mirror set cannot hold.
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
    let message = format!("mirror sets have no place for {}", names.join(", "));
    let finding = Finding::new(&rules::import::SETTINGS, host.at.clone(), message);
    Some(if names == ["ca"] {
        finding
            .with_help("put the authorities into the ConfigMap of spec.additionalTrustedCA in Image/cluster")
    } else {
        finding
    })
}

/// Two folders may belong to one host.
fn shadowed(other: &str) -> Finding {
    let message = format!("containerd does not read this file: the folder {other} takes precedence");
    Finding::new(&rules::import::SHADOWED, DocPath::root(), message)
}

fn no_location(endpoint: &ContainerdEndpoint, at: DocPath) -> Finding {
    let message = format!("{endpoint} is left out: the images of a mirror are below /v2");
    Finding::new(&rules::import::PATH, at, message)
}

fn source_first(source: &str) -> Finding {
    let message = format!("containerd asks {source} before its mirrors, and the imported rule asks it last");
    Finding::new(&rules::import::SOURCE_FIRST, DocPath::root(), message)
}

fn one_policy(source: &str) -> Finding {
    let message = format!(
        "{source} is asked by digest or by tag and not by the other; a mirror set can only forbid both, and does"
    );
    Finding::new(&rules::import::ONE_POLICY, DocPath::root(), message)
}
