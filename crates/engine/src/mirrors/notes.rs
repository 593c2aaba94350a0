//! Collects the findings about each object until they become a verdict.

use super::{MirrorSet, ObjectName, Verdict};
use pullwright_findings::Finding;

/// The objects in the order of their names, with the findings about each. Everything is decided and reported in this order,
/// so the order in which objects are listed does not matter.
pub(super) struct Notes<'a> {
    sets: Vec<Noted<'a>>,
}

struct Noted<'a> {
    set: &'a MirrorSet,
    /// The position in the input.
    position: usize,
    accepted: usize,
    findings: Vec<Finding>,
}

impl<'a> Notes<'a> {
    /// Starts without findings.
    pub(super) fn new(sets: &'a [MirrorSet]) -> Self {
        let noted = |(position, set)| Noted { set, position, accepted: 0, findings: Vec::new() };
        let mut sets: Vec<_> = sets.iter().enumerate().map(noted).collect();
        sets.sort_by_key(|noted| (noted.set.kind, noted.set.name.as_str()));
        Self { sets }
    }

    /// The number of objects.
    pub(super) fn len(&self) -> usize {
        self.sets.len()
    }

    /// Returns the object with this number.
    pub(super) fn set(&self, set: usize) -> &'a MirrorSet {
        self.sets[set].set
    }

    /// The name of the object in messages.
    pub(super) fn object(&self, set: usize) -> ObjectName {
        self.set(set).object()
    }

    /// Records that one more rule of the object is accepted.
    pub(super) fn accept(&mut self, set: usize) {
        self.sets[set].accepted += 1;
    }

    /// Adds a finding for the author of the object.
    pub(super) fn tell(&mut self, set: usize, finding: Finding) {
        self.sets[set].findings.push(finding);
    }

    /// Returns the verdicts in the order of the input.
    pub(super) fn verdicts(mut self) -> Vec<Verdict> {
        self.sets.sort_by_key(|noted| noted.position);
        let verdict = |noted: Noted<'_>| {
            Verdict::new(noted.set.object(), noted.accepted, noted.set.rules.len(), noted.findings)
        };
        self.sets.into_iter().map(verdict).collect()
    }
}
