//! Checks each object on its own: which parts can be used, and why the others cannot.

use std::collections::HashSet;

use super::notes::Notes;
use super::scope::{is_mirror, is_source};
use super::{MirrorSetRule, RegistrySources, SourcePolicy, Verdict, unpullable};
use crate::reference::{DOCKER_HUB_INDEX, Dialect, is_domain, is_qualified};
use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::quote::quote;

/// A rule that can be used.
#[derive(Debug)]
pub(super) struct GoodRule<'a> {
    pub(super) source: &'a str,
    /// Without duplicates. At least one differs from the source, unless no mirror can be asked and the source must not be.
    pub(super) mirrors: Vec<&'a str>,
    pub(super) policy: Option<SourcePolicy>,
    /// The position of the rule: the object in the order of names, as [`Notes`] counts them, and the item of its list.
    pub(super) set: usize,
    pub(super) rule: usize,
}

/// Returns the rule if it can be used.
pub(super) fn rule<'a>(
    rule: &'a MirrorSetRule,
    set: usize,
    index: usize,
    notes: &mut Notes<'a>,
) -> Option<GoodRule<'a>> {
    let source = rule.source.as_str();
    if let Some(finding) = invalid_source(source, || notes.set(set).rule_at(index).key("source")) {
        notes.tell(set, finding);
        return None;
    }
    if !can_begin_a_name(source) {
        let at = notes.set(set).rule_at(index).key("source");
        notes.tell(set, never_matches(at, source));
    }
    let mirrors = usable_mirrors(rule, set, index, notes);
    let good = GoodRule { source, mirrors, policy: rule.policy, set, rule: index };
    let never = rule.forbids_source();
    let names_a_mirror = rule.mirrors.iter().any(|mirror| never || mirror != source);
    if !names_a_mirror {
        notes.accept(set);
        let at = notes.set(set).rule_at(index);
        notes.tell(set, no_mirrors(at, source, never));
        return None;
    }
    // A rule that forbids the source stays even if none of its mirrors can be asked: without it, the source would be asked.
    let counts = never || good.mirrors.iter().any(|mirror| *mirror != source);
    counts.then(|| {
        notes.accept(set);
        unpullable::about_rule(&good, notes);
        good
    })
}

/// Explains why a text is not a valid source, in the words of the Machine Config Operator.
pub(crate) fn invalid_source(source: &str, at: impl FnOnce() -> DocPath) -> Option<Finding> {
    (!is_source(source)).then(|| {
        let message = format!("invalid format for source {}", quote(source));
        Finding::new(&rules::mirrors::INVALID_SOURCE, at(), message)
    })
}

/// Explains why a text cannot be a mirror of the source: it is invalid, in the words of the Machine Config Operator, or it
/// would fail every pull.
pub(crate) fn unusable_mirror(mirror: &str, source: &str, at: impl FnOnce() -> DocPath) -> Option<Finding> {
    if !is_mirror(mirror) {
        let message = format!("invalid format for mirror {}", quote(mirror));
        return Some(Finding::new(&rules::mirrors::INVALID_MIRROR, at(), message));
    }
    // The library rewrites the name for all mirrors before it asks the first, and gives up at the first invalid name: one
    // such mirror would disable all other mirrors of the source.
    (!can_begin_a_name(mirror)).then(|| {
        let message = format!(
            "{} is left out: it cannot be the start of an image name, and would fail every pull of {}",
            quote(mirror),
            quote(source)
        );
        Finding::new(&rules::mirrors::UNUSABLE_MIRROR, at(), message)
    })
}

/// Uses the words of the Machine Config Operator, which then applies nothing at all. Here the ban on the source is the part
/// of the rule that must hold.
fn never_with_source(at: DocPath, source: &str) -> Finding {
    let message = format!(
        "cannot set mirrorSourcePolicy: NeverContactSource if the source {} is one of the mirrors",
        quote(source)
    );
    Finding::new(&rules::mirrors::NEVER_WITH_SOURCE, at, message)
}

/// Returns the mirrors without duplicates, and without those that are invalid, would fail every pull of the source, or are
/// the source itself where that is forbidden.
fn usable_mirrors<'a>(
    rule: &'a MirrorSetRule,
    set: usize,
    index: usize,
    notes: &mut Notes<'a>,
) -> Vec<&'a str> {
    let repeated = repeated(&rule.mirrors);
    let mut mirrors = Vec::with_capacity(rule.mirrors.len());
    for (mirror_index, mirror) in rule.mirrors.iter().enumerate() {
        let at = || notes.set(set).rule_at(index).key("mirrors").index(mirror_index);
        let finding = if repeated.contains(&mirror_index) {
            let message = format!("{} is listed twice; the first place counts", quote(mirror));
            Some(Finding::new(&rules::mirrors::DUPLICATE_MIRROR, at(), message))
        } else if *mirror == rule.source && rule.forbids_source() {
            Some(never_with_source(at(), mirror))
        } else {
            unusable_mirror(mirror, &rule.source, at)
        };
        match finding {
            None => mirrors.push(mirror.as_str()),
            Some(finding) => notes.tell(set, finding),
        }
    }
    mirrors
}

/// Returns the indexes of mirrors that already occur earlier in the list.
fn repeated(mirrors: &[String]) -> HashSet<usize> {
    // Nearly every list is short, and then comparing is cheaper than hashing.
    if mirrors.len() <= 8 {
        let is_repeated = |index: &usize| mirrors[..*index].contains(&mirrors[*index]);
        return (0..mirrors.len()).filter(is_repeated).collect();
    }
    let mut seen = HashSet::with_capacity(mirrors.len());
    (0..mirrors.len()).filter(|index| !seen.insert(&mirrors[*index])).collect()
}

/// The longest scope to which an image name can still be appended: names have at most 255 characters.
const LONGEST: usize = 251;

/// Whether an image name can be equal to `scope` or below it. `scope` matches the patterns.
fn can_begin_a_name(scope: &str) -> bool {
    let host = &scope[..scope.find('/').unwrap_or(scope.len())];
    // The library reads this host as docker.io, and then rejects the name because it differs from what is written.
    is_qualified(host) && host != DOCKER_HUB_INDEX && scope.len() <= LONGEST
}

fn never_matches(at: DocPath, source: &str) -> Finding {
    let message = format!("no image has a name below {}, so this rule is never used", quote(source));
    Finding::new(&rules::mirrors::NEVER_MATCHES, at, message)
}

fn no_mirrors(at: DocPath, source: &str, never: bool) -> Finding {
    let message = format!("{} has no mirrors, so this rule does nothing", quote(source));
    Finding::new(&rules::mirrors::NO_MIRRORS, at, message).with_help(if never {
        "name a mirror, or forbid the source with blockedRegistries of Image/cluster"
    } else {
        "name a mirror, or remove the rule"
    })
}

/// The usable parts of `registrySources`.
#[derive(Debug)]
pub(super) struct GoodSources<'a> {
    /// The insecure scopes, with their index in the list.
    pub(super) insecure: Vec<(usize, &'a str)>,
    /// The blocked scopes, with their index in the list.
    pub(super) blocked: Vec<(usize, &'a str)>,
    pub(super) allowed: Vec<&'a str>,
    /// Whether the list of allowed registries has entries, valid or not.
    pub(super) names_allowed: bool,
    pub(super) search: Option<Vec<String>>,
    findings: Vec<Finding>,
    used: usize,
    parts: usize,
}

/// The path of a list of `registrySources`.
fn sources_at(list: &str) -> DocPath {
    DocPath::root().key("spec").key("registrySources").key(list)
}

impl<'a> GoodSources<'a> {
    /// Checks each entry of each list.
    pub(super) fn new(sources: &'a RegistrySources) -> Self {
        let mut good = Self {
            insecure: Vec::new(),
            blocked: Vec::new(),
            allowed: Vec::new(),
            names_allowed: !sources.allowed.is_empty(),
            search: None,
            findings: Vec::new(),
            used: 0,
            parts: 0,
        };
        good.insecure = good.scopes(&sources.insecure, "insecure");
        good.blocked = good.scopes(&sources.blocked, "blocked");
        good.allowed = good.scopes(&sources.allowed, "allowed").into_iter().map(|(_, scope)| scope).collect();
        good.search = sources.search.as_deref().map(|hosts| good.hosts(hosts));
        if !sources.blocked.is_empty() && !sources.allowed.is_empty() {
            let message = "Only one of blockedRegistries or allowedRegistries may be set";
            let at = sources_at("allowedRegistries");
            good.findings.push(Finding::new(&rules::registry_sources::BLOCKED_AND_ALLOWED, at, message));
        }
        good
    }

    fn scopes(&mut self, scopes: &'a [String], list: &str) -> Vec<(usize, &'a str)> {
        let mut good = Vec::with_capacity(scopes.len());
        for (index, scope) in scopes.iter().enumerate() {
            // Nodes ignore a trailing slash, so a registry that is blocked with a trailing slash must stay blocked.
            let meant = scope.trim_end_matches('/');
            if is_source(meant) {
                good.push((index, meant));
            } else {
                let message = format!("invalid entry for {list} registries {}", quote(scope));
                let at = sources_at(&format!("{list}Registries")).index(index);
                self.findings.push(Finding::new(&rules::registry_sources::INVALID_ENTRY, at, message));
            }
        }
        self.count(good.len(), scopes.len());
        good
    }

    /// Keeps the valid hosts: a single invalid host would make the loader refuse the whole file.
    fn hosts(&mut self, hosts: &[String]) -> Vec<String> {
        let mut good = Vec::with_capacity(hosts.len());
        for (index, host) in hosts.iter().enumerate() {
            if is_domain(Dialect::Runtime, host) {
                good.push(host.clone());
            } else {
                let message = format!("invalid entry for search registries {}", quote(host));
                let at = sources_at("containerRuntimeSearchRegistries").index(index);
                self.findings.push(
                    Finding::new(&rules::registry_sources::INVALID_ENTRY, at, message)
                        .with_help("use host[:port]"),
                );
            }
        }
        self.count(good.len(), hosts.len());
        good
    }

    fn count(&mut self, used: usize, parts: usize) {
        self.used += used;
        self.parts += parts;
    }

    /// Adds a finding about one of the insecure scopes.
    pub(super) fn tell_insecure(&mut self, number: usize, tell: impl FnOnce(DocPath, &str) -> Finding) {
        let (index, scope) = self.insecure[number];
        self.findings.push(tell(sources_at("insecureRegistries").index(index), scope));
    }

    /// Removes scopes from the blocked ones.
    pub(super) fn unblock(&mut self, scopes: &[&str], tell: impl Fn(DocPath, &str) -> Finding) {
        let blocked = std::mem::take(&mut self.blocked).into_iter();
        let (taken, kept): (Vec<_>, _) = blocked.partition(|(_, scope)| scopes.contains(scope));
        self.blocked = kept;
        self.used -= taken.len();
        let at = sources_at("blockedRegistries");
        self.findings.extend(taken.into_iter().map(|(index, scope)| tell(at.index(index), scope)));
    }

    /// Adds a finding about the list of allowed registries as a whole.
    pub(super) fn tell_allowed(&mut self, tell: impl FnOnce(DocPath) -> Finding) {
        self.findings.push(tell(sources_at("allowedRegistries")));
    }

    /// The verdict on the object.
    pub(super) fn verdict(self) -> Verdict {
        Verdict::new(RegistrySources::object(), self.used, self.parts, self.findings)
    }
}
