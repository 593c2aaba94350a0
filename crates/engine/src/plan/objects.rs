//! Which objects of the cluster brought the entries and mirrors of a plan.

use std::path::Path;

use super::{PlannedCandidate, PlannedSource, PullPlan};
use crate::mirrors::{Kind, MirrorSet, ObjectName, RegistrySources, Rule};
use crate::reference::Reference;
use crate::registries::{MirrorUse, Role, rewrite};

impl PullPlan {
    /// Names the objects that a plan comes from. `file` is what was rendered from them: entries of other files are nobody's
    /// but their file's.
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
        for source in self.sources.iter_mut().filter(|source| source.source.role == Role::Mirror) {
            source.objects = brought_by(sets, &entry.prefix, &self.candidate.reference, source);
        }
    }
}

/// The objects that list a mirror for exactly this entry; or else, since an entry without mirrors takes over those of the
/// entry around it, those that list it for something around the entry.
fn brought_by(
    sets: &[MirrorSet],
    prefix: &str,
    image: &Reference,
    source: &PlannedSource,
) -> Vec<ObjectName> {
    let lists = |rule: &Rule| {
        rule.mirrors.iter().any(|mirror| {
            rewrite(image, &rule.source, mirror).is_ok_and(|rewritten| rewritten == source.source.reference)
        })
    };
    let of = |counts: &dyn Fn(&Rule) -> bool| -> Vec<_> {
        let sets = sets.iter().filter(|set| serves(set.kind) == source.source.serves);
        let sets = sets.filter(|set| set.rules.iter().any(|rule| counts(rule) && lists(rule)));
        sets.map(MirrorSet::object).collect()
    };
    let exactly = of(&|rule| rule.source == prefix);
    if exactly.is_empty() { of(&|rule| rule.source.len() < prefix.len()) } else { exactly }
}

fn serves(kind: Kind) -> MirrorUse {
    match kind {
        Kind::ImageDigestMirrorSet | Kind::ImageContentSourcePolicy => MirrorUse::DigestOnly,
        Kind::ImageTagMirrorSet => MirrorUse::TagOnly,
    }
}
