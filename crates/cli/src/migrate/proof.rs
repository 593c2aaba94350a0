//! The proof that a migration changes nothing on a node, at any step: with the old objects, with both, with the new ones.

use pullwright_api::{ImageContentSourcePolicy, ImageDigestMirrorSet};
use pullwright_engine::mirrors::{MergeInputs, MirrorSet, RegistrySources, merge};

/// The file is the same at every step.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Proof {
    /// How many objects the proof covers.
    pub(super) objects: usize,
}

/// The file would change: when, and the first line that differs, empty where one file ends.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("registries.conf would change {when}: {after:?} would replace {before:?}")]
pub(super) struct Changed {
    when: &'static str,
    before: String,
    after: String,
}

/// Merges the objects of each step as the nodes' files are made, and compares the bytes.
pub(super) fn prove<'p>(
    policies: impl Iterator<Item = &'p ImageContentSourcePolicy>,
) -> Result<Proof, Changed> {
    let policies: Vec<_> = policies.cloned().collect();
    let sets: Vec<_> =
        policies.iter().cloned().map(ImageDigestMirrorSet::from).map(MirrorSet::from).collect();
    let policies: Vec<_> = policies.into_iter().map(MirrorSet::from).collect();
    compare(&policies, &sets)
}

fn compare(old: &[MirrorSet], new: &[MirrorSet]) -> Result<Proof, Changed> {
    let before = registries_conf(old);
    let together = registries_conf(&[old, new].concat());
    unchanged("while both are in the cluster", &before, &together)?;
    unchanged("once the old objects are gone", &before, &registries_conf(new))?;
    Ok(Proof { objects: old.len() })
}

fn registries_conf(sets: &[MirrorSet]) -> String {
    merge(&MergeInputs { sets, sources: &RegistrySources::default() }).render()
}

fn unchanged(when: &'static str, before: &str, after: &str) -> Result<(), Changed> {
    if before == after {
        return Ok(());
    }
    let lines = |text: &str| {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    let (old, new): (Vec<_>, Vec<_>) = (lines(before), lines(after));
    let first = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let line = |lines: &[String]| lines.get(first).cloned().unwrap_or_default();
    Err(Changed { when, before: line(&old), after: line(&new) })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use pullwright_api::{ImageContentSourcePolicySpec, RepositoryDigestMirrors};
    use pullwright_engine::mirrors::{MirrorSetKind, MirrorSetRule};

    use super::*;

    fn set(kind: MirrorSetKind, source: &str, mirrors: &[&str]) -> MirrorSet {
        let mirrors = mirrors.iter().map(|&mirror| mirror.to_owned()).collect();
        let rule = MirrorSetRule { source: source.to_owned(), mirrors, policy: None };
        MirrorSet { kind, name: "a".to_owned(), rules: vec![rule] }
    }

    /// Few names, so that sources nest, lists contradict each other, and a source is its own mirror.
    fn place() -> impl Strategy<Value = String> {
        prop::sample::select(vec![
            "a.io",
            "a.io/b",
            "a.io/b/c",
            "*.a.io",
            "m.io",
            "n.io:5000",
            "o.io/p",
            "q",
            "",
        ])
        .prop_map(str::to_owned)
    }

    fn policies() -> impl Strategy<Value = Vec<ImageContentSourcePolicy>> {
        let rule = (place(), vec(place(), 0..4))
            .prop_map(|(source, mirrors)| RepositoryDigestMirrors { source, mirrors });
        vec(vec(rule, 0..4), 0..4).prop_map(|policies| {
            let named = policies.into_iter().enumerate().map(|(index, repository_digest_mirrors)| {
                let spec = ImageContentSourcePolicySpec { repository_digest_mirrors };
                ImageContentSourcePolicy::new(&format!("policy-{index}"), spec)
            });
            named.collect()
        })
    }

    proptest! {
        #[test]
        fn every_migration_can_be_proved(policies in policies()) {
            prop_assert_eq!(prove(policies.iter()), Ok(Proof { objects: policies.len() }));
        }
    }

    #[test]
    fn a_change_is_told_with_its_step_and_its_first_line() {
        let old = [set(MirrorSetKind::ImageContentSourcePolicy, "a.io", &["m.io"])];
        let other = [set(MirrorSetKind::ImageDigestMirrorSet, "a.io", &["n.io"])];
        assert_eq!(
            compare(&old, &other).unwrap_err().to_string(),
            "registries.conf would change while both are in the cluster: \"[[registry.mirror]]\" would replace \"\""
        );
        assert_eq!(
            compare(&old, &[]).unwrap_err().to_string(),
            "registries.conf would change once the old objects are gone: \"\" would replace \"[[registry]]\""
        );
    }
}
