//! What can be used of each object on its own, and why the rest cannot.

use std::collections::HashSet;

use super::notes::Notes;
use super::scope::{is_mirror, is_source};
use super::{RegistrySources, Rule, SourcePolicy, Verdict, unpullable};
use crate::reference::{Dialect, is_domain, is_qualified};
use pullwright_findings::{DocPath, Finding};
use pullwright_golang::quote::quote;

/// A rule that can be used.
#[derive(Debug)]
pub(super) struct GoodRule<'a> {
    pub(super) source: &'a str,
    /// Each once. There is one besides the source, unless none of them can be asked and the source must not be.
    pub(super) mirrors: Vec<&'a str>,
    pub(super) policy: Option<SourcePolicy>,
    /// Where it stands: the object by the order of names, as [`Notes`] counts them, and the item of its list.
    pub(super) set: usize,
    pub(super) rule: usize,
}

/// The rule, if it can be used.
pub(super) fn rule<'a>(
    rule: &'a Rule,
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
    // Where none of its mirrors can be asked, that must not make the source one that is.
    let counts = never || good.mirrors.iter().any(|mirror| *mirror != source);
    counts.then(|| {
        notes.accept(set);
        unpullable::about_rule(&good, notes);
        good
    })
}

/// Why a text is no source, in the words of the Machine Config Operator.
pub(crate) fn invalid_source(source: &str, at: impl FnOnce() -> DocPath) -> Option<Finding> {
    let help = "use host[:port][/path] with the path in lower case, or *.host";
    (!is_source(source)).then(|| {
        let message = format!("invalid format for source {}", quote(source));
        Finding::error("mirrors/invalid-source", at(), message).with_help(help)
    })
}

/// Why a text cannot be a mirror of the source: it is none, in the words of the Machine Config Operator, or it would fail
/// every pull.
pub(crate) fn unusable_mirror(mirror: &str, source: &str, at: impl FnOnce() -> DocPath) -> Option<Finding> {
    if !is_mirror(mirror) {
        let message = format!("invalid format for mirror {}", quote(mirror));
        let help = "use host[:port][/path] with the path in lower case";
        return Some(Finding::error("mirrors/invalid-mirror", at(), message).with_help(help));
    }
    // The library rewrites the name for all mirrors before it asks the first, and gives up at the first
    // name that is none: one such mirror would take every other mirror of the source with it.
    (!can_begin_a_name(mirror)).then(|| {
        let message = format!(
            "{} is left out: it cannot be the start of an image name, and would fail every pull of {}",
            quote(mirror),
            quote(source)
        );
        let help =
            "use a host with a dot or a port in it, or localhost; docker.io instead of index.docker.io";
        Finding::error("mirrors/unusable-mirror", at(), message).with_help(help)
    })
}

/// In the words of the Machine Config Operator, which applies nothing at all then. That the source is not asked is the
/// part of the rule that must hold.
fn never_with_source(at: DocPath, source: &str) -> Finding {
    let message = format!(
        "cannot set mirrorSourcePolicy: NeverContactSource if the source {} is one of the mirrors",
        quote(source)
    );
    let help = "the source is never contacted: remove it from its mirrors, or remove the policy";
    Finding::error("mirrors/never-with-source", at, message).with_help(help)
}

/// The mirrors, each once, without those that are none, would fail every pull of the source, or are the source itself
/// where that is forbidden.
fn usable_mirrors<'a>(rule: &'a Rule, set: usize, index: usize, notes: &mut Notes<'a>) -> Vec<&'a str> {
    let repeated = repeated(&rule.mirrors);
    let mut mirrors = Vec::with_capacity(rule.mirrors.len());
    for (mirror_index, mirror) in rule.mirrors.iter().enumerate() {
        let at = || notes.set(set).rule_at(index).key("mirrors").index(mirror_index);
        let finding = if repeated.contains(&mirror_index) {
            let message = format!("{} is named before; it counts where it stands first", quote(mirror));
            Some(Finding::warning("mirrors/duplicate-mirror", at(), message).with_help("name it once"))
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

/// Where a mirror stands that stands earlier already.
fn repeated(mirrors: &[String]) -> HashSet<usize> {
    // Nearly every list is short, and comparing is then cheaper than hashing.
    if mirrors.len() <= 8 {
        let is_repeated = |index: &usize| mirrors[..*index].contains(&mirrors[*index]);
        return (0..mirrors.len()).filter(is_repeated).collect();
    }
    let mut seen = HashSet::with_capacity(mirrors.len());
    (0..mirrors.len()).filter(|index| !seen.insert(&mirrors[*index])).collect()
}

/// The longest scope to which the name of an image can still be appended: names have at most 255 letters.
const LONGEST: usize = 251;

/// Whether the name of an image can be at or below `scope`, which fits the patterns.
fn can_begin_a_name(scope: &str) -> bool {
    let host = &scope[..scope.find('/').unwrap_or(scope.len())];
    // The library reads this one as docker.io, and then minds that it is not what is written.
    is_qualified(host) && host != "index.docker.io" && scope.len() <= LONGEST
}

fn never_matches(at: DocPath, source: &str) -> Finding {
    let message = format!("no image has a name below {}, so this rule is never used", quote(source));
    Finding::warning("mirrors/never-matches", at, message).with_help(
        "names without a host are looked for on docker.io: use a host with a dot or a port in it, or localhost",
    )
}

fn no_mirrors(at: DocPath, source: &str, never: bool) -> Finding {
    let message = format!("no mirror is named for {}, so this rule does nothing", quote(source));
    Finding::warning("mirrors/no-mirrors", at, message).with_help(if never {
        "name a mirror, or forbid the source with blockedRegistries of Image/cluster"
    } else {
        "name a mirror, or remove the rule"
    })
}

/// What can be used of `registrySources`.
#[derive(Debug)]
pub(super) struct GoodSources<'a> {
    /// With their index in the list.
    pub(super) insecure: Vec<(usize, &'a str)>,
    /// The same.
    pub(super) blocked: Vec<(usize, &'a str)>,
    pub(super) allowed: Vec<&'a str>,
    /// Whether the list of what is allowed has entries, be they good or bad.
    pub(super) names_allowed: bool,
    pub(super) search: Option<Vec<String>>,
    findings: Vec<Finding>,
    used: usize,
    parts: usize,
}

/// Where a list of `registrySources` stands.
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
            good.findings.push(Finding::warning("registry-sources/blocked-and-allowed", at, message).with_help(
                "remove one: registries.conf has the blocked ones, the signature policy cannot be made from both",
            ));
        }
        good
    }

    fn scopes(&mut self, scopes: &'a [String], list: &str) -> Vec<(usize, &'a str)> {
        let mut good = Vec::with_capacity(scopes.len());
        for (index, scope) in scopes.iter().enumerate() {
            // Nodes pass over a slash at the end: what is blocked with one must stay blocked.
            let meant = scope.trim_end_matches('/');
            if is_source(meant) {
                good.push((index, meant));
            } else {
                let message = format!("invalid entry for {list} registries {}", quote(scope));
                let at = sources_at(&format!("{list}Registries")).index(index);
                self.findings.push(
                    Finding::error("registry-sources/invalid-entry", at, message)
                        .with_help("use host[:port][/path] or *.host, without scheme, tag and digest"),
                );
            }
        }
        self.count(good.len(), scopes.len());
        good
    }

    /// One host that is none has the loader refuse the whole file.
    fn hosts(&mut self, hosts: &[String]) -> Vec<String> {
        let mut good = Vec::with_capacity(hosts.len());
        for (index, host) in hosts.iter().enumerate() {
            if is_domain(Dialect::Runtime, host) {
                good.push(host.clone());
            } else {
                let message = format!("invalid entry for search registries {}", quote(host));
                let at = sources_at("containerRuntimeSearchRegistries").index(index);
                self.findings.push(
                    Finding::error("registry-sources/invalid-entry", at, message)
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

    /// Takes scopes off the blocked ones.
    pub(super) fn unblock(&mut self, scopes: &[&str], tell: impl Fn(DocPath, &str) -> Finding) {
        let blocked = std::mem::take(&mut self.blocked).into_iter();
        let (taken, kept): (Vec<_>, _) = blocked.partition(|(_, scope)| scopes.contains(scope));
        self.blocked = kept;
        self.used -= taken.len();
        let at = sources_at("blockedRegistries");
        self.findings.extend(taken.into_iter().map(|(index, scope)| tell(at.index(index), scope)));
    }

    /// Adds a finding about all that is allowed.
    pub(super) fn tell_allowed(&mut self, tell: impl FnOnce(DocPath) -> Finding) {
        self.findings.push(tell(sources_at("allowedRegistries")));
    }

    /// The verdict on the object.
    pub(super) fn verdict(self) -> Verdict {
        Verdict::new(RegistrySources::object(), self.used, self.parts, self.findings)
    }
}
