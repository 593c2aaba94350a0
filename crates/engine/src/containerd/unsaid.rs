//! What `registries.conf` says and containerd cannot be told, with what happens instead.

use std::collections::HashSet;

use super::asked::{Asked, Asking};
use super::forbidden::Forbidden;
use super::render::by_host;
use super::{By, CertsD};
use crate::registries::{RegistriesConf, Registry};
use pullwright_findings::{DocPath, Finding, Rule, rules};

/// Who is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runtime {
    /// By `hosts.toml`.
    Containerd,
    /// By `registries.yaml`.
    K3s,
}

impl Runtime {
    /// What it is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Containerd => "containerd",
            Self::K3s => "K3s",
        }
    }
}

/// Everything that differs on a node with these folders.
pub(super) fn findings(
    conf: &RegistriesConf,
    certs: &CertsD,
    hosts: &[String],
    runtime: Runtime,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let registries = conf.registries();
    for (index, registry) in registries.iter().enumerate() {
        if registry.prefix.starts_with("*.") {
            findings.push(wildcard(registry, index, hosts));
        }
    }
    let forbidden = Forbidden::new(&registries);
    for (host, below) in by_host(conf, hosts) {
        findings.extend(forbidden.findings(&host, certs, runtime));
        let paths = below.iter().map(|registry| registry.prefix.as_str());
        for scope in std::iter::once(host.as_str()).chain(paths) {
            let Some(wanted) = Asking::by_conf(conf, scope) else { continue };
            let compared = Compared { scope, wanted, found: Asking::by_containerd(certs, scope), runtime };
            findings.extend(compared.finding(&registries));
        }
    }
    findings.extend(short_names(conf));
    findings
}

/// What is asked for the images of a registry or of a path in it.
struct Compared<'c> {
    scope: &'c str,
    wanted: Asking,
    found: Asking,
    runtime: Runtime,
}

impl Compared<'_> {
    fn finding(&self, registries: &[&Registry]) -> Option<Finding> {
        let Self { scope, wanted, found, runtime } = self;
        if wanted == found {
            return None;
        }
        let name = runtime.name();
        let differing = [(By::Tag, "tag"), (By::Digest, "digest")];
        let differing = differing.into_iter().filter(|(by, _)| wanted.of(*by) != found.of(*by));
        let described = differing.map(|(by, by_what)| {
            let (wanted, found) = (in_words(wanted.of(by)), in_words(found.of(by)));
            format!("by {by_what}, registries.conf asks {wanted} and {name} asks {found}")
        });
        let message = format!("for images of {scope}: {}", described.collect::<Vec<_>>().join("; "));
        let (rule, help) = self.cause();
        let finding = Finding { help, ..Finding::new(rule, place(registries, scope), message) };
        Some(if rule.may_be_warning() && !self.asks_forbidden_source() {
            finding.as_warning()
        } else {
            finding
        })
    }

    /// Whether the source is asked although `registries.conf` forbids it, which is more than an approximation.
    fn asks_forbidden_source(&self) -> bool {
        let against = |by| self.asks_source(self.found.of(by)) && !self.asks_source(self.wanted.of(by));
        against(By::Tag) || against(By::Digest)
    }

    fn asks_source(&self, asked: &[Asked]) -> bool {
        asked.iter().any(|asked| asked.place == self.scope)
    }

    /// Whether only the connections differ.
    fn same_places(&self) -> bool {
        let places = |asked: &[Asked]| asked.iter().map(|asked| asked.place.clone()).collect::<Vec<_>>();
        let same = |by| places(self.wanted.of(by)) == places(self.found.of(by));
        same(By::Tag) && same(By::Digest)
    }

    /// Why it cannot be expressed: the rule, and what to do if the rule does not say it.
    fn cause(&self) -> (&'static Rule, Option<String>) {
        let extra = |by: By| {
            let wanted: HashSet<_> = self.wanted.of(by).iter().collect();
            self.found.of(by).iter().filter(move |asked| !wanted.contains(asked))
        };
        let by_tag: HashSet<_> = self.wanted.by_tag.iter().collect();
        let rule = match (self.runtime, self.scope.split_once('/')) {
            (Runtime::Containerd, Some((host, _))) => {
                let help = format!(
                    "containerd knows mirrors of {host} and not of paths in it; a mirror of a path is asked by \
                     digest, for every image of {host}, if it keeps the path, and never by tag"
                );
                return (&rules::containerd::PATH, Some(help));
            }
            (Runtime::K3s, Some((host, _))) => {
                let help = format!(
                    "K3s knows mirrors of {host} and not of paths in it; mirrors of paths are left out"
                );
                return (&rules::k3s::PATH, Some(help));
            }
            (Runtime::K3s, None) if self.asks_forbidden_source() => &rules::k3s::BLOCKED,
            (Runtime::K3s, None) if self.same_places() => &rules::k3s::INSECURE,
            (Runtime::K3s, None) if extra(By::Tag).next().is_some() => &rules::k3s::DIGEST_ONLY,
            (Runtime::Containerd, None) if extra(By::Digest).any(|asked| !by_tag.contains(asked)) => {
                &rules::containerd::WIDER
            }
            (Runtime::K3s, None) if extra(By::Digest).next().is_some() => &rules::k3s::TAG_ONLY,
            (Runtime::Containerd, None) if extra(By::Digest).next().is_some() => &rules::containerd::TAG_ONLY,
            (Runtime::K3s, None) => &rules::k3s::ONE_ORDER,
            (Runtime::Containerd, None) => &rules::containerd::ONE_ORDER,
        };
        (rule, None)
    }
}

fn wildcard(registry: &Registry, index: usize, hosts: &[String]) -> Finding {
    let prefix = &registry.prefix;
    let suffix = prefix.trim_start_matches('*');
    let named: Vec<_> = hosts.iter().filter(|host| host.ends_with(suffix)).map(String::as_str).collect();
    let except = match named.as_slice() {
        [] => String::new(),
        named => format!(", other than {},", named.join(", ")),
    };
    let message = format!("hosts that match {prefix}{except} are asked as if this entry were not there");
    let at = DocPath::root().key("registry").index(index).key("prefix");
    let finding = Finding::new(&rules::containerd::WILDCARD, at, message);
    if registry.blocked { finding } else { finding.as_warning() }
}

/// containerd takes a name without a registry for one of Docker Hub.
fn short_names(conf: &RegistriesConf) -> Option<Finding> {
    let root = DocPath::root();
    let searched = conf.unqualified_search_registries().filter(|hosts| *hosts != ["docker.io"]);
    let at = match searched {
        Some(_) => root.key("unqualified-search-registries"),
        None if !conf.aliases().is_empty() => root.key("aliases"),
        None => return None,
    };
    let message = "containerd looks for names without a registry in docker.io only";
    Some(Finding::new(&rules::containerd::SHORT_NAMES, at, message))
}

/// The entry that is about this scope, in the list sorted by prefix.
fn place(registries: &[&Registry], scope: &str) -> DocPath {
    let position = registries.binary_search_by(|registry| registry.prefix.as_str().cmp(scope));
    position.map_or_else(|_| DocPath::root(), |index| DocPath::root().key("registry").index(index))
}

pub(super) fn in_words(asked: &[Asked]) -> String {
    let places: Vec<_> = asked
        .iter()
        .map(|Asked { place, insecure }| format!("{place}{}", if *insecure { " (insecure)" } else { "" }))
        .collect();
    if places.is_empty() { "nobody".to_owned() } else { places.join(", then ") }
}
