//! Finds what a rule does not affect although it is in the file, and what it affects although it does not say so.

use std::collections::HashSet;

use super::check::{GoodRule, GoodSources};
use super::entries::{Entries, LeftOut, takes_a_port};
use super::notes::Notes;
use super::scope::ScopeMap;
use super::scopes::{Applied, Scopes};
use super::sources::{Pulls, Source};
use crate::registries::Registry;
use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::quote::quote;

/// Finds the entry that a node uses for a name.
pub(super) struct Lookup<'s, 'a> {
    scopes: &'s Scopes<'a>,
    registries: &'s [Registry],
    any_blocked: bool,
}

impl<'s, 'a> Lookup<'s, 'a> {
    /// Searches all entries, which must be final.
    pub(super) fn new(scopes: &'s Scopes<'a>, entries: &'s Entries<'a>) -> Self {
        let any_blocked = entries.registries.iter().any(|entry| entry.blocked);
        Self { scopes, registries: &entries.registries, any_blocked }
    }

    fn governing(&self, name: &str) -> Option<&'s Registry> {
        self.scopes.governing(name).map(|position| &self.registries[position])
    }
}

/// Compares one source with all others.
pub(super) fn about_source(
    source: &Source<'_>,
    applied: &Applied<'_>,
    lookup: &Lookup<'_, '_>,
    notes: &mut Notes<'_>,
) {
    hidden(source, lookup, notes);
    if let Some(outer) = applied.nearest(source.pulls).hidden {
        hides(source, outer, notes);
    }
    if applied.nearest(source.pulls.others()).applied.is_none() {
        refuses_others(source, notes);
    }
    if lookup.any_blocked {
        for rule in source.rules {
            blocked_mirrors(rule, lookup, notes);
        }
    }
}

/// The library prefers the longer prefix, and of two equally long ones the wildcard: `*.example.com` over `a.example.com`.
fn hidden(source: &Source<'_>, lookup: &Lookup<'_, '_>, notes: &mut Notes<'_>) {
    let Some(entry) = lookup.governing(source.scope).filter(|entry| entry.prefix != source.scope) else {
        return;
    };
    for rule in source.rules {
        let message = format!(
            "{} is never used: nodes prefer {}, which is as long",
            quote(source.scope),
            quote(&entry.prefix)
        );
        let at = notes.set(rule.set).rule_at(rule.rule).key("source");
        notes.tell(rule.set, Finding::new(&rules::mirrors::HIDDEN_SOURCE, at, message));
    }
}

/// Only the most specific source applies: this one takes its images away from the next source around it.
fn hides(source: &Source<'_>, outer: &Source<'_>, notes: &mut Notes<'_>) {
    let never = outer.never.filter(|_| source.never.is_none());
    for rule in source.rules {
        // The rules are sorted by object.
        let ends = [outer.rules.first(), outer.rules.last()];
        let strangers = ends.into_iter().flatten().find(|other| other.set != rule.set);
        let finding = match (never, strangers) {
            (Some(never), _) => {
                let message = format!(
                    "{} may be contacted: NeverContactSource of {} in {} does not reach this more specific source",
                    quote(source.scope),
                    quote(outer.scope),
                    notes.object(never.set)
                );
                warning(rule, notes, message)
                    .with_help("set mirrorSourcePolicy: NeverContactSource here as well")
            }
            (None, Some(other)) => {
                let message = format!(
                    "images of {} are not pulled from the mirrors of {} in {}: only the most specific source applies",
                    quote(source.scope),
                    quote(outer.scope),
                    notes.object(other.set)
                );
                warning(rule, notes, message)
                    .with_help("repeat those mirrors here if they have the images too")
            }
            (None, None) => continue,
        };
        notes.tell(rule.set, finding);
    }
}

fn warning(rule: &GoodRule<'_>, notes: &Notes<'_>, message: String) -> Finding {
    let at = notes.set(rule.set).rule_at(rule.rule).key("source");
    Finding::new(&rules::mirrors::HIDES_SOURCE, at, message)
}

/// A node has one flag for both kinds of pull: a rule that forbids the source to one kind forbids it to the other as well.
fn refuses_others(source: &Source<'_>, notes: &mut Notes<'_>) {
    let Some(never) = source.never else { return };
    let (pulls, kind) = match source.pulls.others() {
        Pulls::ByDigest => ("digest", "ImageDigestMirrorSet"),
        Pulls::ByTag => ("tag", "ImageTagMirrorSet"),
    };
    let message = format!(
        "pulls of {} by {pulls} are refused: NeverContactSource counts for them too, and no {kind} names a mirror",
        quote(source.scope)
    );
    let at = notes.set(never.set).rule_at(never.rule).key("mirrorSourcePolicy");
    let help = format!("if they are needed, name mirrors for them in an {kind}");
    notes.tell(never.set, Finding::new(&rules::mirrors::OTHER_KIND_REFUSED, at, message).with_help(help));
}

/// The entry that governs the mirror decides whether a node may ask it.
fn blocked_mirrors(rule: &GoodRule<'_>, lookup: &Lookup<'_, '_>, notes: &mut Notes<'_>) {
    for (at, mirror) in placed(rule, notes).filter(|(_, mirror)| *mirror != rule.source) {
        let Some(entry) = lookup.governing(mirror).filter(|entry| entry.blocked) else { continue };
        let message = format!(
            "mirror {} of {} is never asked: {} is blocked",
            quote(mirror),
            quote(rule.source),
            quote(&entry.prefix)
        );
        let at = mirror_at(rule, at, notes);
        notes.tell(rule.set, Finding::new(&rules::mirrors::BLOCKED_MIRROR, at, message));
    }
}

/// Returns the mirrors of a rule that are used, each with its index in the written list.
pub(super) fn placed<'a>(
    rule: &GoodRule<'a>,
    notes: &Notes<'a>,
) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
    let written = notes.set(rule.set).rules[rule.rule].mirrors.iter().enumerate();
    let mut used = rule.mirrors.clone().into_iter().peekable();
    written.filter_map(move |(at, mirror)| Some((at, used.next_if(|used| used == mirror)?)))
}

/// The path of a mirror in its object.
pub(super) fn mirror_at(rule: &GoodRule<'_>, mirror: usize, notes: &Notes<'_>) -> DocPath {
    notes.set(rule.set).rule_at(rule.rule).key("mirrors").index(mirror)
}

/// Reports mirrors that cannot serve a scope with a port inside their wildcard, once per source.
pub(super) fn about_left_out(left_out: &[LeftOut<'_>], notes: &mut Notes<'_>) {
    let mut told = HashSet::new();
    for LeftOut { source, scope } in left_out {
        if !told.insert((source.scope, source.pulls)) {
            continue;
        }
        for rule in source.rules {
            for (at, mirror) in placed(rule, notes).filter(|(_, mirror)| !takes_a_port(mirror)) {
                let (mirror, scope) = (quote(mirror), quote(scope));
                let message = format!("mirror {mirror} does not serve {scope}: a port cannot follow it");
                let help = format!("name {scope} as a source with its own mirrors");
                let at = mirror_at(rule, at, notes);
                let finding = Finding::new(&rules::mirrors::PORT_BELOW_WILDCARD, at, message).with_help(help);
                notes.tell(rule.set, finding);
            }
        }
    }
}

/// Reports insecure scopes inside a mirror: a pull through the mirror uses the flag of the mirror itself.
pub(super) fn about_insecure<'a>(all: impl Iterator<Item = &'a Source<'a>>, sources: &mut GoodSources<'a>) {
    if !sources.insecure.iter().any(|(_, scope)| scope.contains('/')) {
        return;
    }
    // If several sources have a mirror, the finding names the first.
    let mut through: ScopeMap<'_, (usize, &str, &str)> = ScopeMap::default();
    for (number, (source, mirror)) in
        all.flat_map(|source| source.mirrors().iter().map(|mirror| (source.scope, *mirror))).enumerate()
    {
        through.get_or_insert(mirror, (number, source, mirror));
    }
    let first_around = |scope: &str| {
        let outside = scope.rfind('/').map_or("", |slash| &scope[..slash]);
        through.around(outside).min_by_key(|(number, ..)| *number)
    };
    let through: Vec<_> = sources.insecure.iter().map(|(_, scope)| first_around(scope)).collect();
    for (number, through) in through.into_iter().enumerate() {
        let Some((_, source, mirror)) = through else { continue };
        sources.tell_insecure(number, |at, scope| {
            let message = format!(
                "pulls of {} through its mirror {} are not insecure below {}",
                quote(source),
                quote(mirror),
                quote(scope)
            );
            let help = format!("list {} itself if all of it is insecure", quote(mirror));
            Finding::new(&rules::registry_sources::INSECURE_BELOW_MIRROR, at, message).with_help(help)
        });
    }
}
