//! The way back: what containerd's or K3s's files say, as mirror sets.

use std::collections::HashSet;
use std::hash::Hash;

use super::asked::location;
use super::{By, CertsD, Endpoint, Folder, Host, HostsToml, Role, folder_name, host_of_folder};
use crate::finding::{DocPath, Finding};
use crate::mirrors::{Kind, MirrorSet, RegistrySources, Rule, SourcePolicy};

/// What a file became. Mirrors by digest and by tag go into objects of two kinds, and what is about a registry and
/// not about its mirrors into `Image/cluster`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Rules of an `ImageDigestMirrorSet`.
    pub by_digest: Vec<Rule>,
    /// Rules of an `ImageTagMirrorSet`.
    pub by_tag: Vec<Rule>,
    /// What `Image/cluster` has to say for them to work.
    pub sources: RegistrySources,
    /// What could not be taken over, each with the folder whose `hosts.toml` it is about; the folder is empty for a
    /// `registries.yaml`.
    pub findings: Vec<(String, Finding)>,
}

/// Takes over the folders of a node.
#[must_use]
pub fn import(certs: &CertsD) -> Imported {
    let mut imported = Imported::default();
    for (folder, content) in certs.folders() {
        let mut tell = |finding: Finding| imported.findings.push((folder.to_owned(), finding));
        match (content, host_of_folder(folder)) {
            (Folder::Certificates, _) => {}
            (Folder::Refused(error), _) => tell(error.finding()),
            (Folder::Hosts(_), None) => tell(all_registries(DocPath::root())),
            (Folder::Hosts(_), Some(registry))
                if certs.folder_of(&registry).is_none_or(|used| used.0 != folder) =>
            {
                tell(shadowed(&folder_name(&registry)));
            }
            (Folder::Hosts(file), Some(registry)) => {
                file.findings().iter().cloned().for_each(&mut tell);
                imported.add(folder, &registry, file);
            }
        }
    }
    imported.once()
}

/// Leaves the first of equal items.
fn once<T: Clone + Eq + Hash>(items: &mut Vec<T>) {
    let mut seen = HashSet::new();
    items.retain(|item| seen.insert(item.clone()));
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

    /// Adds what another file became.
    pub fn extend(&mut self, other: Self) {
        self.by_digest.extend(other.by_digest);
        self.by_tag.extend(other.by_tag);
        for (all, more) in [
            (&mut self.sources.insecure, other.sources.insecure),
            (&mut self.sources.blocked, other.sources.blocked),
        ] {
            all.extend(more);
            once(all);
        }
        self.findings.extend(other.findings);
    }

    /// Takes over one file, which is about the images of `source`.
    pub(super) fn add(&mut self, folder: &str, source: &str, file: &HostsToml) {
        let registry = source.split('/').next().unwrap_or_default();
        let mut findings = Vec::new();
        let mut asked = Vec::new();
        for (endpoint, host) in
            file.endpoints(registry).into_iter().zip(file.hosts.iter().chain([&file.server]))
        {
            findings.extend(left_behind(host));
            if !endpoint.serves(By::Digest) {
                continue;
            }
            match location(&endpoint) {
                Some(location) => asked.push((location, endpoint)),
                None if endpoint.role == Role::Server || host.is_usable() => {
                    findings.push(no_location(&endpoint, host.at.clone()));
                }
                // Told when the file was read.
                None => {}
            }
        }
        for (location, endpoint) in asked.iter().filter(|(_, endpoint)| endpoint.is_insecure()) {
            let host = if location == source { registry } else { &endpoint.host };
            self.sources.insecure.push(host.to_owned());
        }
        let [tag, digest] = [By::Tag, By::Digest].map(|by| Pulls::of(source, &asked, by));
        if tag.source_first || digest.source_first {
            findings.push(source_first(source));
        }
        if tag.contacts != digest.contacts {
            findings.push(one_policy(source));
        }
        let never = !(tag.contacts && digest.contacts);
        if never && tag.mirrors.is_empty() && digest.mirrors.is_empty() {
            self.sources.blocked.push(source.to_owned());
        }
        let policy = never.then_some(SourcePolicy::NeverContactSource);
        for (rules, mirrors) in [(&mut self.by_digest, digest.mirrors), (&mut self.by_tag, tag.mirrors)] {
            if !mirrors.is_empty() {
                rules.push(Rule { source: source.to_owned(), mirrors, policy });
            }
        }
        self.findings.extend(findings.into_iter().map(|finding| (folder.to_owned(), finding)));
    }

    /// Everything once: an endpoint may be for several paths, and a host for several sources.
    pub(super) fn once(mut self) -> Self {
        once(&mut self.sources.insecure);
        once(&mut self.findings);
        self
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
    fn of(source: &str, asked: &[(String, Endpoint)], by: By) -> Self {
        let mut pulls = Self { mirrors: Vec::new(), contacts: false, source_first: false };
        let mut seen = HashSet::new();
        for (location, _) in asked.iter().filter(|(_, endpoint)| endpoint.serves(by)) {
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
