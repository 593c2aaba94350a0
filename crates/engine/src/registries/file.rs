//! Parses and checks one `registries.conf` or drop-in. Applies every rule of the loader, in its order and with its
//! messages.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::decode::{RawEndpoint, RawRegistry, Version1, decode};
use super::problem::{ConfError, Problem, refuse};
use super::{Mirror, PullFromMirror, Registry, RegistryEndpoint, ShortNameMode, candidates, lint, render};
use crate::reference::{Dialect, Reference, is_domain};
use pullwright_findings::{DocPath, Finding};

/// A file that the loader accepts.
#[derive(Debug, Clone, Default)]
pub struct ConfFile {
    /// In file order. If several entries have the same prefix, only the first one counts.
    pub(super) registries: Vec<Registry>,
    pub(super) search: Option<Vec<String>>,
    pub(super) credential_helpers: Option<Vec<String>>,
    pub(super) short_name_mode: Option<ShortNameMode>,
    pub(super) additional_layer_store_auth_helper: String,
    /// An alias without a target removes one from an earlier file.
    pub(super) aliases: BTreeMap<String, Option<Reference>>,
    /// What was ignored while reading.
    passed_over: Vec<Finding>,
}

impl ConfFile {
    /// Parses and checks the text of one file.
    ///
    /// # Errors
    /// The first problem for which the loader refuses the file.
    pub fn parse(text: &str) -> Result<Self, ConfError> {
        let mut findings = Vec::new();
        let raw = decode(text, &mut findings)?;
        if let Some(converted) = convert_version1(raw.version1) {
            return Err(refuse(DocPath::root().key("registries"), Problem::Version1 { converted }));
        }
        let registries = check_registries(raw.registries)?;
        check_conflicts(&registries)?;
        let search = raw.search.map(check_search).transpose()?;
        let short_name_mode = check_short_name_mode(&raw.short_name_mode)?;
        if let Some((index, registry)) = first_bad_wildcard(&registries) {
            return Err(refuse(registry_at(index).key("prefix"), Problem::Wildcard(registry.prefix.clone())));
        }
        Ok(Self {
            registries,
            search,
            credential_helpers: raw.credential_helpers.map(owned),
            short_name_mode,
            additional_layer_store_auth_helper: raw.additional_layer_store_auth_helper.into_owned(),
            aliases: candidates::check_aliases(raw.aliases)?,
            passed_over: findings,
        })
    }

    /// Returns what the loader silently accepts but a user should know: ignored keys and entries, and entries that can
    /// never have their intended effect.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = self.passed_over.clone();
        let mut seen = HashSet::new();
        for (position, registry) in self.registries.iter().enumerate() {
            let at = registry_at(position);
            if seen.insert(&registry.prefix) {
                lint::registry(&at, registry, &mut findings);
            } else {
                findings.push(lint::duplicate(at, registry));
            }
        }
        findings
    }
}

fn registry_at(index: usize) -> DocPath {
    DocPath::root().key("registry").index(index)
}

fn owned(texts: Vec<Cow<'_, str>>) -> Vec<String> {
    texts.into_iter().map(Cow::into_owned).collect()
}

/// Strips trailing slashes. The loader checks nothing else: no case, no white space, no grammar.
fn normalise(text: &str, at: impl FnOnce() -> DocPath) -> Result<String, ConfError> {
    let trimmed = text.trim_end_matches('/');
    if trimmed.starts_with("http://") || trimmed.starts_with("https://") {
        return Err(refuse(at(), Problem::Scheme(text.to_owned())));
    }
    Ok(trimmed.to_owned())
}

fn check_registries(raw: Vec<RawRegistry<'_>>) -> Result<Vec<Registry>, ConfError> {
    let mut registries = Vec::with_capacity(raw.len());
    for (index, raw) in raw.into_iter().enumerate() {
        registries.push(check_registry(raw, index)?);
    }
    Ok(registries)
}

fn check_registry(raw: RawRegistry<'_>, index: usize) -> Result<Registry, ConfError> {
    let at = |key: &str| registry_at(index).key(key);
    let location = normalise(&raw.endpoint.location, || at("location"))?;
    let prefix = if raw.prefix.is_empty() {
        if location.is_empty() {
            return Err(refuse(registry_at(index), Problem::NeitherLocationNorPrefix));
        }
        location.clone()
    } else {
        let prefix = normalise(&raw.prefix, || at("prefix"))?;
        if location.is_empty() && !prefix.starts_with("*.") {
            return Err(refuse(registry_at(index), Problem::NoLocation));
        }
        prefix
    };
    if !raw.endpoint.pull_from_mirror.is_empty() {
        return Err(refuse(at("pull-from-mirror"), Problem::PullFromMirrorOnRegistry(prefix)));
    }
    let digest_only_for = raw.mirror_by_digest_only.then_some(prefix.as_str());
    let mut mirrors = Vec::with_capacity(raw.mirrors.len());
    for (mirror, raw) in raw.mirrors.into_iter().enumerate() {
        mirrors.push(check_mirror(raw, digest_only_for, || at("mirror").index(mirror))?);
    }
    Ok(Registry {
        endpoint: RegistryEndpoint {
            location,
            insecure: raw.endpoint.insecure,
            namespace_proxy: raw.endpoint.namespace_proxy.into_owned(),
        },
        prefix,
        blocked: raw.blocked,
        mirror_by_digest_only: raw.mirror_by_digest_only,
        mirrors,
    })
}

fn check_mirror(
    raw: RawEndpoint<'_>,
    digest_only_for: Option<&str>,
    at: impl Fn() -> DocPath,
) -> Result<Mirror, ConfError> {
    let location = normalise(&raw.location, || at().key("location"))?;
    if location.is_empty() {
        return Err(refuse(at(), Problem::NoMirrorLocation));
    }
    let value = raw.pull_from_mirror;
    let known = PullFromMirror::parse(&value);
    let problem = match digest_only_for {
        _ if value.is_empty() => None,
        Some(prefix) => Some(Problem::MirrorUseTwice { prefix: prefix.to_owned(), mirror: location.clone() }),
        None if known.is_none() => {
            Some(Problem::PullFromMirrorValue { value: value.into_owned(), mirror: location.clone() })
        }
        None => None,
    };
    if let Some(problem) = problem {
        return Err(refuse(at().key("pull-from-mirror"), problem));
    }
    let endpoint = RegistryEndpoint {
        location,
        insecure: raw.insecure,
        namespace_proxy: raw.namespace_proxy.into_owned(),
    };
    Ok(Mirror { endpoint, pull_from_mirror: known })
}

/// The first entry for a location, and the first setting that a later entry contradicts.
struct Seen {
    first: usize,
    conflict: Option<&'static str>,
}

/// Checks that entries with the same location agree. A single pass compares each entry with the first one for its
/// location. This finds the same first conflict as comparing all pairs, reported at the first entry for that location.
fn check_conflicts(registries: &[Registry]) -> Result<(), ConfError> {
    let settings = |registry: &Registry| (registry.endpoint.insecure, registry.blocked);
    if registries.windows(2).all(|pair| settings(&pair[0]) == settings(&pair[1])) {
        return Ok(());
    }
    let mut seen: HashMap<&str, Seen> = HashMap::new();
    for (index, registry) in registries.iter().enumerate() {
        let location = registry.endpoint.location.as_str();
        let place = if location.is_empty() { &registry.prefix } else { location };
        let entry = seen.entry(place).or_insert(Seen { first: index, conflict: None });
        let first = &registries[entry.first];
        if entry.conflict.is_none() {
            // For each pair, the loader checks `insecure` before `blocked`.
            if first.endpoint.insecure != registry.endpoint.insecure {
                entry.conflict = Some("insecure");
            } else if first.blocked != registry.blocked {
                entry.conflict = Some("blocked");
            }
        }
    }
    let earliest = seen.values().filter_map(|seen| Some((seen.first, seen.conflict?))).min();
    match earliest {
        None => Ok(()),
        Some((first, setting)) => {
            let location = registries[first].endpoint.location.clone();
            Err(refuse(registry_at(first).key(setting), Problem::Conflict { location, setting }))
        }
    }
}

fn check_search(hosts: Vec<Cow<'_, str>>) -> Result<Vec<String>, ConfError> {
    let at = |index| DocPath::root().key("unqualified-search-registries").index(index);
    hosts
        .into_iter()
        .enumerate()
        .map(|(index, host)| {
            let host = normalise(&host, || at(index))?;
            if is_domain(Dialect::Runtime, &host) {
                Ok(host)
            } else {
                Err(refuse(at(index), Problem::SearchRegistry(host)))
            }
        })
        .collect()
}

fn check_short_name_mode(text: &str) -> Result<Option<ShortNameMode>, ConfError> {
    match (text, ShortNameMode::parse(text)) {
        ("", _) => Ok(None),
        (_, Some(mode)) => Ok(Some(mode)),
        (_, None) => {
            Err(refuse(DocPath::root().key("short-name-mode"), Problem::ShortNameMode(text.to_owned())))
        }
    }
}

/// The loader searches the sorted list, so the first match in sort order is returned.
fn first_bad_wildcard(registries: &[Registry]) -> Option<(usize, &Registry)> {
    registries
        .iter()
        .enumerate()
        .filter(|(_, registry)| {
            registry.prefix.starts_with("*.") && registry.prefix.contains(['/', '@', ':'])
        })
        .min_by_key(|(_, registry)| &registry.prefix)
}

/// Returns the same settings in the current format, if the file has any of the old lists.
fn convert_version1(old: Version1<'_>) -> Option<String> {
    if old.search.is_none() && old.insecure.is_none() && old.block.is_none() {
        return None;
    }
    let mut registries: Vec<Registry> = Vec::new();
    let mut known = HashMap::new();
    let mut set = |locations: &Option<Vec<Cow<'_, str>>>, flag: fn(&mut Registry)| {
        for location in locations.iter().flatten() {
            let location = location.trim_end_matches('/');
            let index = *known.entry(location.to_owned()).or_insert_with(|| {
                registries.push(Registry {
                    prefix: location.to_owned(),
                    endpoint: RegistryEndpoint {
                        location: location.to_owned(),
                        ..RegistryEndpoint::default()
                    },
                    blocked: false,
                    mirror_by_digest_only: false,
                    mirrors: Vec::new(),
                });
                registries.len() - 1
            });
            flag(&mut registries[index]);
        }
    };
    set(&old.block, |registry| registry.blocked = true);
    set(&old.insecure, |registry| registry.endpoint.insecure = true);
    Some(render::render(&registries, old.search.map(owned).as_deref()))
}
