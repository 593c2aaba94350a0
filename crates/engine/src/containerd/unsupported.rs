//! Finds settings of `registries.conf` that containerd's or K3s's files cannot express, and reports what happens instead.

use std::collections::HashSet;

use super::asked::{Asked, Asking};
use super::forbidden::Forbidden;
use super::render::by_host;
use super::{By, CertsD};
use crate::registries::{RegistriesConf, Registry};
use pullwright_findings::{DocPath, Finding, Rule, rules};

/// The program that the files are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetRuntime {
    /// containerd, which reads `hosts.toml`.
    Containerd,
    /// K3s, which reads `registries.yaml`.
    K3s,
}

/// The maximum number of places in a message about a path. A registry can have thousands of paths, and as many mirrors.
const LISTED: usize = 8;

impl TargetRuntime {
    /// The name, as its users write it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Containerd => "containerd",
            Self::K3s => "K3s",
        }
    }
}

/// Returns everything that is different on a node with these folders.
pub(super) fn findings(
    conf: &RegistriesConf,
    certs: &CertsD,
    hosts: &[String],
    runtime: TargetRuntime,
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
        let found = Asking::by_containerd(certs, &host);
        let asks_source =
            [By::Tag, By::Digest].map(|by| found.of(by).iter().any(|asked| asked.place == host));
        let paths = below.iter().map(|registry| registry.prefix.as_str());
        for scope in std::iter::once(host.as_str()).chain(paths) {
            let Some(wanted) = Asking::by_conf(conf, scope) else { continue };
            let path = &scope[host.len()..];
            let compared = Compared { scope, path, wanted, found: &found, asks_source, runtime };
            findings.extend(compared.finding(&registries));
        }
    }
    findings.extend(short_names(conf));
    findings
}

/// Compares the places that are asked for the images of a registry, or of a path in it.
///
/// containerd asks the same mirrors for every path. They are stored once for the registry, so that a path costs no more than
/// its own mirrors: there may be thousands of both.
struct Compared<'c> {
    scope: &'c str,
    /// The part of the scope after the host: empty, or a slash and a path.
    path: &'c str,
    wanted: Asking,
    /// The places that the runtime asks for the registry. For the scope, the path is appended to each place.
    found: &'c Asking,
    /// Whether the runtime asks the registry itself, by tag and by digest.
    asks_source: [bool; 2],
    runtime: TargetRuntime,
}

impl Compared<'_> {
    fn finding(&self, registries: &[&Registry]) -> Option<Finding> {
        let Self { scope, path, wanted, found, runtime, .. } = self;
        let name = runtime.name();
        let differing: Vec<_> = [(By::Tag, "tag"), (By::Digest, "digest")]
            .into_iter()
            .filter(|(by, _)| !self.is_same(*by))
            .map(|(by, by_what)| {
                let (wanted, found) = (in_words(wanted.of(by), ""), in_words(found.of(by), path));
                format!("by {by_what}, registries.conf asks {wanted} and {name} asks {found}")
            })
            .collect();
        if differing.is_empty() {
            return None;
        }
        let message = format!("for images of {scope}: {}", differing.join("; "));
        let (rule, help) = self.cause();
        let finding = Finding { help, ..Finding::new(rule, place(registries, scope), message) };
        Some(if rule.may_be_warning() && !self.asks_forbidden_source() {
            finding.as_warning()
        } else {
            finding
        })
    }

    /// Whether `registries.conf` and the runtime ask the same places in the same order.
    fn is_same(&self, by: By) -> bool {
        let (wanted, found) = (self.wanted.of(by), self.found.of(by));
        let same = |(wanted, found): (&Asked, &Asked)| {
            wanted.insecure == found.insecure && wanted.place.strip_suffix(self.path) == Some(&found.place)
        };
        wanted.len() == found.len() && wanted.iter().zip(found).all(same)
    }

    /// Whether the source is asked although `registries.conf` forbids it, which is worse than an approximation.
    fn asks_forbidden_source(&self) -> bool {
        let asks = |asked: &[Asked]| asked.iter().any(|asked| asked.place == self.scope);
        let [by_tag, by_digest] = self.asks_source;
        (by_tag && !asks(&self.wanted.by_tag)) || (by_digest && !asks(&self.wanted.by_digest))
    }

    /// Whether only the connections differ.
    fn same_places(&self) -> bool {
        let places = |asked: &[Asked]| asked.iter().map(|asked| asked.place.clone()).collect::<Vec<_>>();
        let same = |by| places(self.wanted.of(by)) == places(self.found.of(by));
        same(By::Tag) && same(By::Digest)
    }

    /// Returns the rule that explains why the configuration cannot be expressed, and a help text if the rule has none.
    fn cause(&self) -> (&'static Rule, Option<String>) {
        let extra = |by: By| {
            let wanted: HashSet<_> = self.wanted.of(by).iter().collect();
            self.found.of(by).iter().filter(move |asked| !wanted.contains(asked))
        };
        let by_tag: HashSet<_> = self.wanted.by_tag.iter().collect();
        let rule = match (self.runtime, self.scope.split_once('/')) {
            (TargetRuntime::Containerd, Some((host, _))) => {
                let help = format!(
                    "containerd has mirrors for {host}, not for paths in it; a mirror of a path is asked by \
                     digest, for every image of {host}, if it keeps the path, and never by tag"
                );
                return (&rules::containerd::PATH, Some(help));
            }
            (TargetRuntime::K3s, Some((host, _))) => {
                let help =
                    format!("K3s has mirrors for {host}, not for paths in it; mirrors of paths are left out");
                return (&rules::k3s::PATH, Some(help));
            }
            (TargetRuntime::K3s, None) if self.asks_forbidden_source() => &rules::k3s::BLOCKED,
            (TargetRuntime::K3s, None) if self.same_places() => &rules::k3s::INSECURE,
            (TargetRuntime::K3s, None) if extra(By::Tag).next().is_some() => &rules::k3s::DIGEST_ONLY,
            (TargetRuntime::Containerd, None) if extra(By::Digest).any(|asked| !by_tag.contains(asked)) => {
                &rules::containerd::WIDER
            }
            (TargetRuntime::K3s, None) if extra(By::Digest).next().is_some() => &rules::k3s::TAG_ONLY,
            (TargetRuntime::Containerd, None) if extra(By::Digest).next().is_some() => {
                &rules::containerd::TAG_ONLY
            }
            (TargetRuntime::K3s, None) => &rules::k3s::ONE_ORDER,
            (TargetRuntime::Containerd, None) => &rules::containerd::ONE_ORDER,
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

/// containerd assumes Docker Hub for a name without a registry.
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

/// Returns the path of the entry for this scope, in the list sorted by prefix.
fn place(registries: &[&Registry], scope: &str) -> DocPath {
    let position = registries.binary_search_by(|registry| registry.prefix.as_str().cmp(scope));
    position.map_or_else(|_| DocPath::root(), |index| DocPath::root().key("registry").index(index))
}

/// Describes the places, each followed by `path`. A path has all mirrors of its registry, so only the first few are listed.
pub(super) fn in_words(asked: &[Asked], path: &str) -> String {
    let listed = asked.iter().take(if path.is_empty() { usize::MAX } else { LISTED });
    let places: Vec<_> = listed
        .map(|Asked { place, insecure }| {
            format!("{place}{path}{}", if *insecure { " (insecure)" } else { "" })
        })
        .collect();
    match asked.len() - places.len() {
        _ if places.is_empty() => "nobody".to_owned(),
        0 => places.join(", then "),
        more => format!("{}, then {more} more", places.join(", then ")),
    }
}
