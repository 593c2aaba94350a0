//! What must hold for all objects.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::registries::{Mirror, PullFromMirror};

const SCOPES: &[&str] = &[
    "a.io",
    "a.io/x",
    "a.io/x/y",
    "a.io:80",
    "b.io",
    "*.io",
    "c.d.io",
    "*.d.io",
    "c.d.io:80/x",
    "m.io",
    "m.io/x",
    "m.io:80",
    "n.io/a",
    "",
    "m",
    "a.io/X",
    "*.io/x",
    "a.io/",
];

prop_compose! {
    fn any_rule()(
        source in select(SCOPES),
        mirrors in proptest::collection::vec(select(SCOPES), 0..5),
        policy in select(&[None, None, Some(SourcePolicy::NeverContactSource), Some(SourcePolicy::AllowContactingSource)][..]),
    ) -> MirrorSetRule {
        MirrorSetRule { policy, ..rule(source, &mirrors) }
    }
}

prop_compose! {
    fn any_set()(
        kind in select(&[MirrorSetKind::ImageDigestMirrorSet, MirrorSetKind::ImageTagMirrorSet, MirrorSetKind::ImageContentSourcePolicy][..]),
        rules in proptest::collection::vec(any_rule(), 0..4),
    ) -> MirrorSet {
        MirrorSet { kind, name: String::new(), rules }
    }
}

prop_compose! {
    fn any_sources()(
        insecure in proptest::collection::vec(select(SCOPES), 0..4),
        blocked in proptest::collection::vec(select(SCOPES), 0..4),
    ) -> RegistrySources {
        let owned = |scopes: Vec<&str>| scopes.into_iter().map(str::to_owned).collect();
        RegistrySources { insecure: owned(insecure), blocked: owned(blocked), ..RegistrySources::default() }
    }
}

fn any_sets() -> impl Strategy<Value = (Vec<MirrorSet>, Vec<MirrorSet>)> {
    proptest::collection::vec(any_set(), 0..5).prop_flat_map(|mut sets| {
        for (index, set) in sets.iter_mut().enumerate() {
            set.name = format!("set-{index}");
        }
        (Just(sets.clone()), Just(sets).prop_shuffle())
    })
}

/// Whether a rule of this kind forbids asking `source` and names only mirrors that are none.
fn has_never_without_mirrors(sets: &[MirrorSet], kind: MirrorSetKind, source: &str) -> bool {
    let of_kind = sets.iter().filter(|set| set.kind.serves() == kind.serves());
    let is_never = |rule: &&MirrorSetRule| rule.policy == Some(SourcePolicy::NeverContactSource);
    of_kind
        .flat_map(|set| &set.rules)
        .filter(is_never)
        .any(|rule| rule.source == source && !rule.mirrors.is_empty())
}

proptest! {
    #[test]
    fn the_order_of_objects_changes_nothing((sets, shuffled) in any_sets(), sources in any_sources()) {
        let (given, other) = (merged(&sets, &sources), merged(&shuffled, &sources));
        prop_assert_eq!(given.render(), other.render());
        for (set, verdict) in sets.iter().zip(&given.verdicts) {
            prop_assert_eq!(&verdict.object, &set.object());
            prop_assert!(other.verdicts.contains(verdict), "{:?} is not in {:?}", verdict, other.verdicts);
        }
    }

    /// Objects that say what the result says give the same pulls again: nothing is left to merge.
    #[test]
    fn merging_the_result_again_changes_nothing((sets, _) in any_sets(), sources in any_sources()) {
        let once = merged(&sets, &sources);
        let of = |kind: MirrorSetKind, name: &str| {
            let rules = once.registries.iter().filter_map(|entry| {
                let mirrors = entry.mirrors.iter().filter(|it| it.pull_from_mirror == Some(kind.serves()));
                let locations: Vec<&str> = mirrors.map(|it| it.endpoint.location.as_str()).collect();
                // Below `*.io`, its mirror `m.io` inherits itself; as a rule that says nothing.
                let last_is_itself = locations.last() == Some(&entry.prefix.as_str());
                let never_alone = locations.is_empty() && has_never_without_mirrors(&sets, kind, &entry.prefix);
                if never_alone {
                    return Some(never(&entry.prefix, &["no-mirror"]));
                }
                (!locations.is_empty() && !last_is_itself).then(|| rule(&entry.prefix, &locations))
            });
            MirrorSet { kind, name: name.to_owned(), rules: rules.collect() }
        };
        let again = merged(&[of(MirrorSetKind::ImageDigestMirrorSet, "d"), of(MirrorSetKind::ImageTagMirrorSet, "t")], &sources);
        for entry in &again.registries {
            let before = once.registries.iter().find(|it| it.prefix == entry.prefix);
            let itself = |it: &Mirror| it.endpoint.location == entry.prefix;
            if !before.is_some_and(|before| before.mirrors.iter().any(itself)) {
                prop_assert_eq!(before.map(|it| &it.mirrors), Some(&entry.mirrors), "{}", entry.prefix);
            }
            prop_assert_eq!(before.map(|it| it.endpoint.insecure), Some(entry.endpoint.insecure));
        }
    }

    #[test]
    fn every_entry_and_every_mirror_is_somebodys((sets, _) in any_sets(), sources in any_sources()) {
        let rules = |serves: Option<PullFromMirror>| {
            let sets = sets.iter().filter(move |set| serves.is_none_or(|serves| set.kind.serves() == serves));
            sets.flat_map(|set| &set.rules)
        };
        for entry in merged(&sets, &sources).registries {
            let named = rules(None).any(|rule| rule.source == entry.prefix);
            let mut scopes = sources.insecure.iter().chain(&sources.blocked);
            let listed = scopes.any(|scope| scope.trim_end_matches('/') == entry.prefix);
            prop_assert!(named || listed, "{}", entry.prefix);
            for mirror in entry.mirrors {
                let location = &mirror.endpoint.location;
                let somebodys = rules(mirror.pull_from_mirror)
                    .any(|rule| rule.mirrors.iter().any(|it| location.starts_with(it.as_str())));
                prop_assert!(somebodys, "{location}");
            }
        }
    }

    /// What was merged can always be loaded: one bad string must not take the node's whole file with it.
    #[test]
    fn any_strings_give_a_file_that_loads(
        texts in proptest::collection::vec("[a-z*.:/\"\\\\@ é\n-]{0,12}", 1..8),
    ) {
        let scopes: Vec<&str> = texts.iter().map(String::as_str).collect();
        let sources = RegistrySources {
            insecure: texts.clone(),
            blocked: texts.clone(),
            allowed: texts.clone(),
            search: Some(texts.clone()),
        };
        let rules: Vec<MirrorSetRule> = scopes.iter().map(|source| rule(source, &scopes)).collect();
        let alone: Vec<MirrorSetRule> = scopes.iter().map(|mirror| rule("quay.io", &[mirror])).collect();
        let merged = merged(&[idms("a", rules.clone()), itms("b", rules), icsp("c", alone)], &sources);
        let loaded = merged.registries_conf("/etc/containers/registries.conf".into());
        prop_assert!(loaded.is_ok(), "{loaded:?}\n{}", merged.render());
    }
}
