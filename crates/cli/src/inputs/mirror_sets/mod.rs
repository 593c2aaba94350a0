//! The objects in manifests that decide where images are pulled from, and the verdict on each.
//!
//! Manifests are read from the tree that has the places, and not into the API's types: those stop at the first fault and know
//! neither line nor column.

#[cfg(test)]
mod agreement;
mod decode;
mod recognise;

use std::collections::HashMap;

use pullwright_documents::DocumentNode;
use pullwright_engine::mirrors::{
    MergeInputs, Merged, MirrorSet, ObjectName, ObjectOutcome, Payload, RegistrySources, merge,
    merge_protecting,
};
use pullwright_findings::{DocPath, Finding, Severity, rules};

use super::manifests::{ManifestFile, objects_of};
use crate::diagnostic::{File, Message, Visibility};

/// One object, as it is written.
pub(crate) struct MirrorObject<'f> {
    pub(crate) name: ObjectName,
    pub(crate) file: &'f ManifestFile,
    /// The line that it begins at.
    pub(crate) line: usize,
    node: &'f DocumentNode,
    says: Says,
    /// What is wrong with how it is written.
    findings: Vec<Finding>,
}

/// What an object says.
enum Says {
    Mirrors(MirrorSet),
    Registries(RegistrySources),
    /// It cannot be used.
    Nothing,
}

impl MirrorObject<'_> {
    /// The file, as far as this object is shown of it.
    fn shown(&self) -> File<'_> {
        File { visibility: Visibility::MirrorSet, ..self.file.file() }
    }

    fn refuse(&mut self, finding: Finding) {
        self.says = Says::Nothing;
        self.findings.push(finding);
    }
}

/// The objects of manifests, in the order of the files.
pub(crate) fn read(files: &[ManifestFile]) -> Vec<MirrorObject<'_>> {
    let mut objects = Vec::new();
    for file in files {
        let documents = file.documents.iter();
        // A file may hold thousands of objects, so its lines are counted on from one to the next.
        let (mut line, mut counted) = (1, 0);
        for mut object in documents.flat_map(objects_of).filter_map(|object| recognise::object(file, object))
        {
            let start = object.node.span.start;
            line += file.text.get(counted..start).unwrap_or_default().matches('\n').count();
            counted = counted.max(start);
            object.line = line;
            objects.push(object);
        }
    }
    replace(&mut objects);
    objects
}

/// The cluster has one object of a kind and a name: the one that was applied last.
fn replace(objects: &mut [MirrorObject<'_>]) {
    let named = objects.iter().enumerate().filter(|(_, object)| !object.name.name.is_empty());
    let last: HashMap<_, _> = named.map(|(index, object)| (object.name.clone(), index)).collect();
    for index in 0..objects.len() {
        let Some(later) = last.get(&objects[index].name).filter(|later| **later != index) else { continue };
        let later = &objects[*later];
        let place = format!("{}:{}", later.file.path.display(), later.line);
        let message = format!("a later {} replaces this one: {place}", later.name);
        let at = DocPath::root().key("metadata").key("name");
        objects[index].refuse(Finding::new(&rules::mirrors::REPLACED, at, message));
    }
}

/// What the objects say together, and what became of each.
pub(crate) struct Judged<'f> {
    pub(crate) merged: Merged,
    /// What was merged, without objects of which nothing counts.
    pub(crate) sets: Vec<MirrorSet>,
    pub(crate) sources: RegistrySources,
    pub(crate) verdicts: Vec<Judgement<'f>>,
}

/// What became of an object.
pub(crate) struct Judgement<'f> {
    pub(crate) object: MirrorObject<'f>,
    pub(crate) outcome: ObjectOutcome,
    pub(crate) messages: Vec<Message>,
}

/// Merges the objects, those of a cluster that is made from `payload` if it is known.
pub(crate) fn judge<'f>(objects: Vec<MirrorObject<'f>>, payload: Option<&Payload>) -> Judged<'f> {
    let mut sets = Vec::new();
    let mut sources = RegistrySources::default();
    for object in &objects {
        match &object.says {
            Says::Mirrors(set) => sets.push(set.clone()),
            Says::Registries(registries) => sources = registries.clone(),
            Says::Nothing => {}
        }
    }
    let inputs = MergeInputs { sets: &sets, sources: &sources };
    let merged = payload.map_or_else(|| merge(&inputs), |payload| merge_protecting(&inputs, payload));
    let mut of_sets = merged.verdicts.iter();
    let verdicts = objects.into_iter().map(|object| {
        let verdict = match &object.says {
            Says::Mirrors(_) => of_sets.next(),
            Says::Registries(_) => Some(&merged.sources),
            Says::Nothing => None,
        };
        let outcome = verdict.map_or(ObjectOutcome::Rejected, |verdict| outcome(&object, verdict.outcome));
        let findings = object.findings.iter().chain(verdict.iter().flat_map(|verdict| &verdict.findings));
        let written = object.shown().written(object.node);
        let mut messages: Vec<_> = findings.map(|finding| written.finding(finding)).collect();
        messages.sort_by_key(Message::line_and_column);
        Judgement { object, outcome, messages }
    });
    let verdicts = verdicts.collect();
    let counts: Vec<_> =
        merged.verdicts.iter().map(|verdict| verdict.outcome != ObjectOutcome::Rejected).collect();
    let sets = sets.into_iter().zip(counts).filter_map(|(set, counts)| counts.then_some(set)).collect();
    Judged { merged, sets, sources, verdicts }
}

/// What was not even read is missing from what the engine saw.
fn outcome(object: &MirrorObject<'_>, of_the_rest: ObjectOutcome) -> ObjectOutcome {
    let left_out = object.findings.iter().any(|finding| finding.severity == Severity::Error);
    let empty = matches!(&object.says, Says::Mirrors(set) if set.rules.is_empty());
    match of_the_rest {
        _ if left_out && empty => ObjectOutcome::Rejected,
        ObjectOutcome::Applied if left_out => ObjectOutcome::Partly,
        outcome => outcome,
    }
}
