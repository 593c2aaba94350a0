//! Finds the cluster objects that the entries and mirrors of a plan come from.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::Path;

use super::{PlannedCandidate, PlannedSource, PullPlan};
use crate::mirrors::{MirrorSet, MirrorSetKind, ObjectName, RegistrySources};
use crate::reference::Reference;
use crate::registries::{MirrorUse, SourceRole, rewrite};

impl PullPlan {
    /// Adds the names of the objects that the plan comes from. `file` is the file rendered from them; entries in other
    /// files come from no object.
    pub fn name_objects(&mut self, sets: &[MirrorSet], sources: &RegistrySources, file: &Path) {
        for candidate in &mut self.candidates {
            candidate.name_objects(sets, sources, file);
        }
    }
}

impl PlannedCandidate {
    fn name_objects(&mut self, sets: &[MirrorSet], sources: &RegistrySources, file: &Path) {
        let Some(entry) = self.governed_by.as_mut().filter(|entry| entry.file == file) else { return };
        let listed = |list: &[String]| list.contains(&entry.prefix);
        let of_image = listed(&sources.insecure) || listed(&sources.blocked);
        let of_sets = sets.iter().filter(|set| set.rules.iter().any(|rule| rule.source == entry.prefix));
        entry.objects = of_sets.map(MirrorSet::object).collect();
        entry.objects.extend(of_image.then(RegistrySources::object));
        let brought = Brought::of(sets, &entry.prefix, &self.candidate.reference);
        for source in self.sources.iter_mut().filter(|source| source.source.role == SourceRole::Mirror) {
            source.objects = brought.by(source);
        }
    }
}

/// The objects that list each mirror for exactly an entry, and those that list it for something around the entry,
/// because an entry without mirrors inherits those of the entry around it.
#[derive(Default)]
struct Brought {
    exactly: Listed,
    around: Listed,
}

/// Keyed by the pulls that a mirror serves and the reference requested from it.
type Listed = HashMap<(MirrorUse, Reference), Vec<ObjectName>>;

impl Brought {
    fn of(sets: &[MirrorSet], prefix: &str, image: &Reference) -> Self {
        let mut brought = Self::default();
        for set in sets {
            for rule in &set.rules {
                let listed = match rule.source.len().cmp(&prefix.len()) {
                    _ if rule.source == prefix => &mut brought.exactly,
                    Ordering::Less => &mut brought.around,
                    _ => continue,
                };
                for mirror in &rule.mirrors {
                    let Ok(asked) = rewrite(image, &rule.source, mirror) else { continue };
                    let objects = listed.entry((serves(set.kind), asked)).or_default();
                    if objects.last().is_none_or(|last| *last != set.object()) {
                        objects.push(set.object());
                    }
                }
            }
        }
        brought
    }

    fn by(&self, source: &PlannedSource) -> Vec<ObjectName> {
        let asked = (source.source.serves, source.source.reference.clone());
        self.exactly.get(&asked).or_else(|| self.around.get(&asked)).cloned().unwrap_or_default()
    }
}

fn serves(kind: MirrorSetKind) -> MirrorUse {
    match kind {
        MirrorSetKind::ImageDigestMirrorSet | MirrorSetKind::ImageContentSourcePolicy => {
            MirrorUse::DigestOnly
        }
        MirrorSetKind::ImageTagMirrorSet => MirrorUse::TagOnly,
    }
}
