//! The result of a merge: the entries for `registries.conf`, and the verdicts.

use std::path::PathBuf;

use super::check::{self, GoodRule, GoodSources};
use super::entries::Entries;
use super::notes::Notes;
use super::payload::{self, Payload};
use super::policy::{Policy, PolicyError};
use super::reach::Lookup;
use super::render::{read_back, render};
use super::scopes::Scopes;
use super::sources::{Pulls, sources};
use super::{MirrorSet, RegistrySources, Verdict, disagreements, reach};
use crate::registries::{ConfError, RegistriesConf, Registry};

/// The input of a merge.
#[derive(Debug, Clone, Copy)]
pub struct MergeInputs<'a> {
    /// The objects, in any order.
    pub sets: &'a [MirrorSet],
    /// The `registrySources` of `Image/cluster`.
    pub sources: &'a RegistrySources,
}

/// The combined result of all objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The entries, in the order of the file.
    pub registries: Vec<Registry>,
    /// The registries to search for names without a registry, if set.
    pub search: Option<Vec<String>>,
    /// The images that nodes accept at all; `None` if no object restricts them.
    pub policy: Result<Option<Policy>, PolicyError>,
    /// One verdict for each of [`MergeInputs::sets`], in their order.
    pub verdicts: Vec<Verdict>,
    /// The verdict on `Image/cluster`.
    pub sources: Verdict,
}

impl Merged {
    /// Renders `registries.conf` in the format of the Go encoder: equal input gives equal bytes.
    #[must_use]
    pub fn render(&self) -> String {
        render(&self.registries, self.search.as_deref())
    }

    /// Returns the result as a node reads it from a file at `path`.
    ///
    /// # Errors
    /// Never for the result of [`merge`], where everything was checked. It is still read with the loader's own code, so that
    /// a plan made from it is the plan of a node.
    pub fn registries_conf(&self, path: PathBuf) -> Result<RegistriesConf, ConfError> {
        read_back(&self.registries, self.search.as_deref(), path)
    }
}

/// Merges all objects.
#[must_use]
pub fn merge(inputs: &MergeInputs<'_>) -> Merged {
    merge_all(inputs, None)
}

/// Merges all objects of a cluster that runs `payload`. Scopes that would keep its nodes from pulling the payload are not
/// blocked.
#[must_use]
pub fn merge_protecting(inputs: &MergeInputs<'_>, payload: &Payload) -> Merged {
    merge_all(inputs, Some(payload))
}

fn merge_all(inputs: &MergeInputs<'_>, payload: Option<&Payload>) -> Merged {
    let mut notes = Notes::new(inputs.sets);
    let (by_digest, by_tag) = good_rules(&mut notes);
    let by_digest = sources(Pulls::ByDigest, &by_digest);
    let by_tag = sources(Pulls::ByTag, &by_tag);
    let mut registry_sources = GoodSources::new(inputs.sources);
    if let Some(payload) = payload {
        payload::protect(payload, &by_digest, &by_tag, &mut registry_sources);
    }
    let scopes = Scopes::new(&by_digest, &by_tag, &registry_sources);
    let entries = Entries::new(&scopes);
    let lookup = Lookup::new(&scopes, &entries);
    for pulls in [Pulls::ByDigest, Pulls::ByTag] {
        for (scope, applied) in scopes.all.iter().zip(&entries.applied) {
            let Some(source) = scope.source(pulls) else { continue };
            disagreements::about_order(source, &mut notes);
            disagreements::about_policy(source, applied, &mut notes);
            reach::about_source(source, applied, &lookup, &mut notes);
        }
    }
    reach::about_left_out(&entries.left_out, &mut notes);
    reach::about_insecure(by_digest.iter().chain(&by_tag), &mut registry_sources);
    Merged {
        registries: entries.registries,
        search: registry_sources.search.take(),
        policy: Policy::new(&registry_sources, payload),
        verdicts: notes.verdicts(),
        sources: registry_sources.verdict(),
    }
}

/// Returns all usable rules, for pulls by digest and by tag, each sorted by source.
fn good_rules<'a>(notes: &mut Notes<'a>) -> (Vec<GoodRule<'a>>, Vec<GoodRule<'a>>) {
    let (mut by_digest, mut by_tag) = (Vec::new(), Vec::new());
    for set in 0..notes.len() {
        let object = notes.set(set);
        let rules = match Pulls::of(object.kind) {
            Pulls::ByDigest => &mut by_digest,
            Pulls::ByTag => &mut by_tag,
        };
        for (index, rule) in object.rules.iter().enumerate() {
            rules.extend(check::rule(rule, set, index, notes));
        }
    }
    // The sort is stable: rules of one source stay in the order of the objects' names.
    by_digest.sort_by_key(|rule| rule.source);
    by_tag.sort_by_key(|rule| rule.source);
    (by_digest, by_tag)
}
