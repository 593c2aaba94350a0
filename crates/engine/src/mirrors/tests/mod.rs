//! Mirror sets from objects to file: vectors, findings, and what holds for all of them.

mod findings;
mod notation;
mod order;
mod payload;
mod policy;
mod properties;
mod rendering;
mod vectors;

use super::*;

/// A rule without a policy.
fn rule(source: &str, mirrors: &[&str]) -> MirrorSetRule {
    MirrorSetRule {
        source: source.to_owned(),
        mirrors: mirrors.iter().map(|it| (*it).to_owned()).collect(),
        policy: None,
    }
}

/// The same rule with one.
fn never(source: &str, mirrors: &[&str]) -> MirrorSetRule {
    MirrorSetRule { policy: Some(SourcePolicy::NeverContactSource), ..rule(source, mirrors) }
}

fn idms(name: &str, rules: Vec<MirrorSetRule>) -> MirrorSet {
    MirrorSet { kind: MirrorSetKind::ImageDigestMirrorSet, name: name.to_owned(), rules }
}

fn itms(name: &str, rules: Vec<MirrorSetRule>) -> MirrorSet {
    MirrorSet { kind: MirrorSetKind::ImageTagMirrorSet, name: name.to_owned(), rules }
}

fn icsp(name: &str, rules: Vec<MirrorSetRule>) -> MirrorSet {
    MirrorSet { kind: MirrorSetKind::ImageContentSourcePolicy, name: name.to_owned(), rules }
}

fn merged(sets: &[MirrorSet], sources: &RegistrySources) -> Merged {
    merge(&MergeInputs { sets, sources })
}
