//! What `registries.conf` says and containerd cannot be told, with what happens instead.

use std::collections::HashSet;

use super::asked::{Asked, Asking};
use super::forbidden::Forbidden;
use super::render::by_host;
use super::{By, CertsD};
use crate::registries::{RegistriesConf, Registry};
use pullwright_findings::{DocPath, Finding, Severity};

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
        let at = place(registries, scope);
        Some(Finding { severity: self.severity(), rule, at, message, help: Some(help) })
    }

    /// To ask a source that must not be asked is no approximation.
    fn severity(&self) -> Severity {
        let against = |by| self.asks_source(self.found.of(by)) && !self.asks_source(self.wanted.of(by));
        if against(By::Tag) || against(By::Digest) { Severity::Error } else { Severity::Warning }
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

    /// Why it cannot be said: the rule's name, and what to know or do.
    fn cause(&self) -> (&'static str, String) {
        let extra = |by: By| {
            let wanted: HashSet<_> = self.wanted.of(by).iter().collect();
            self.found.of(by).iter().filter(move |asked| !wanted.contains(asked))
        };
        let by_tag: HashSet<_> = self.wanted.by_tag.iter().collect();
        let (rule, help) = match (self.runtime, self.scope.split_once('/')) {
            (Runtime::Containerd, Some((host, _))) => {
                let help = format!(
                    "containerd knows mirrors of {host} and not of paths in it; a mirror of a path is asked by \
                     digest, for every image of {host}, if it keeps the path, and never by tag"
                );
                return ("containerd/path", help);
            }
            (Runtime::K3s, Some((host, _))) => {
                let help = format!(
                    "K3s knows mirrors of {host} and not of paths in it; mirrors of paths are left out"
                );
                return ("k3s/path", help);
            }
            (Runtime::K3s, None) if self.severity() == Severity::Error => (
                "k3s/blocked",
                "K3s asks every registry itself in the end, unless it is started with \
                 --disable-default-registry-endpoint, which is for all registries with mirrors",
            ),
            (Runtime::K3s, None) if self.same_places() => {
                ("k3s/insecure", "K3s knows one setting for the TLS of a host, wherever the host is named")
            }
            (Runtime::K3s, None) if extra(By::Tag).next().is_some() => (
                "k3s/digest-only",
                "K3s asks a mirror that serves digests by tag, too, and takes its word for the content",
            ),
            (Runtime::Containerd, None) if extra(By::Digest).any(|asked| !by_tag.contains(asked)) => (
                "containerd/wider",
                "mirrors of paths are asked by digest for every image of the registry; a digest makes \
                     sure of what they give",
            ),
            (runtime, None) if extra(By::Digest).next().is_some() => (
                if runtime == Runtime::K3s { "k3s/tag-only" } else { "containerd/tag-only" },
                "a mirror that serves tags is asked by digest, too; a digest makes sure of what it gives",
            ),
            (runtime, None) => (
                if runtime == Runtime::K3s { "k3s/one-order" } else { "containerd/one-order" },
                "mirrors are asked in one order, by tag and by digest; list them in the same order for both",
            ),
        };
        (rule, help.to_owned())
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
    let severity = if registry.blocked { Severity::Error } else { Severity::Warning };
    let at = DocPath::root().key("registry").index(index).key("prefix");
    let help = "containerd has no wildcards; name the hosts that are used";
    Finding { severity, rule: "containerd/wildcard", at, message, help: Some(help.to_owned()) }
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
    let finding = Finding::warning("containerd/short-names", at, message);
    Some(finding.with_help("write image names with their registry"))
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
