//! What is found out about each object on the way, until it becomes a verdict.

use super::{MirrorSet, ObjectName, Verdict};
use pullwright_findings::Finding;

/// The objects in the order of their names, with what was found about each. In that order everything is decided
/// and reported, so that the order in which objects are listed cannot matter.
pub(super) struct Notes<'a> {
    sets: Vec<Noted<'a>>,
}

struct Noted<'a> {
    set: &'a MirrorSet,
    /// Where it stands in the input.
    position: usize,
    accepted: usize,
    findings: Vec<Finding>,
}

impl<'a> Notes<'a> {
    /// Nothing found yet.
    pub(super) fn new(sets: &'a [MirrorSet]) -> Self {
        let noted = |(position, set)| Noted { set, position, accepted: 0, findings: Vec::new() };
        let mut sets: Vec<_> = sets.iter().enumerate().map(noted).collect();
        sets.sort_by_key(|noted| (noted.set.kind, noted.set.name.as_str()));
        Self { sets }
    }

    /// How many objects there are.
    pub(super) fn len(&self) -> usize {
        self.sets.len()
    }

    /// The object of this number.
    pub(super) fn set(&self, set: usize) -> &'a MirrorSet {
        self.sets[set].set
    }

    /// What to call it.
    pub(super) fn object(&self, set: usize) -> ObjectName {
        self.set(set).object()
    }

    /// One of its rules is in the result.
    pub(super) fn accept(&mut self, set: usize) {
        self.sets[set].accepted += 1;
    }

    /// Something to tell its author.
    pub(super) fn tell(&mut self, set: usize, finding: Finding) {
        self.sets[set].findings.push(finding);
    }

    /// The verdicts, in the order of the input.
    pub(super) fn verdicts(mut self) -> Vec<Verdict> {
        self.sets.sort_by_key(|noted| noted.position);
        let verdict = |noted: Noted<'_>| {
            Verdict::new(noted.set.object(), noted.accepted, noted.set.rules.len(), noted.findings)
        };
        self.sets.into_iter().map(verdict).collect()
    }
}
