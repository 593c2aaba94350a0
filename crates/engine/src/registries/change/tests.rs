//! The Machine Config Operator's decisions about draining, and where a pull notices what it does not look at.

use proptest::prelude::*;

use super::super::{Mirror, PullFromMirror, RegistriesConf, RegistryEndpoint, render};
use super::*;
use crate::reference::{Dialect, Reference};

fn changes(old: &str, new: &str) -> Vec<Change> {
    ConfFile::parse(old).unwrap().changes_to(&ConfFile::parse(new).unwrap())
}

fn notice(old: &str, new: &str) -> Option<Notice> {
    Notice::of(&changes(old, new))
}

const SEARCH: &str = "unqualified-search-registries = ['a.io', 'b.io']\n";
const PLAIN: &str = "[[registry]]\nlocation = 'r.io'\n";
const BLOCKED: &str = "[[registry]]\nlocation = 'blocked.io'\nblocked = true\n";

fn entry(location: &str, mirrors: &[(&str, &str)]) -> String {
    let mirrors = mirrors.iter().map(|(mirror, serves)| {
        let serves =
            if serves.is_empty() { String::new() } else { format!("pull-from-mirror = '{serves}'\n") };
        format!("[[registry.mirror]]\nlocation = '{mirror}'\n{serves}")
    });
    format!("[[registry]]\nlocation = '{location}'\n{}", mirrors.collect::<String>())
}

fn digest(location: &str, mirrors: &[&str]) -> String {
    let mirrors: Vec<_> = mirrors.iter().map(|mirror| (*mirror, "digest-only")).collect();
    entry(location, &mirrors)
}

#[test]
fn a_node_is_drained_as_the_machine_config_operator_drains_it() {
    let one = &digest("r.io", &["m.io"]);
    let two = &digest("r.io", &["m.io", "n.io"]);
    let flagged = "[[registry]]\nlocation = 'r.io'\nmirror-by-digest-only = true\n";
    let flagged_mirror = &format!("{flagged}[[registry.mirror]]\nlocation = 'm.io'\n");
    let flagged_mirrors = &format!("{flagged_mirror}[[registry.mirror]]\nlocation = 'n.io'\n");
    let with = |more: &str| format!("{BLOCKED}{more}");
    let twice = &entry("r.io", &[("m.io", "digest-only"), ("m.io", "tag-only")]);
    let third = "[[registry.mirror]]\nlocation = 'n.io'\npull-from-mirror = 'digest-only'\n";
    for (what, old, new, expected) in [
        ("no change", one.as_str(), one.as_str(), None),
        ("a registry with digest-only mirrors", "", two, Some(Notice::Nobody)),
        ("a registry without mirrors", "", PLAIN, Some(Notice::Drain)),
        ("a registry without mirrors but with the flag", "", flagged, Some(Notice::Nobody)),
        ("a registry whose mirrors have only the flag", "", flagged_mirror, Some(Notice::Drain)),
        ("a registry is gone", one, "", Some(Notice::Drain)),
        ("a digest-only mirror", one, two, Some(Notice::Nobody)),
        ("beside a blocked registry", &with(one), &with(two), Some(Notice::Nobody)),
        ("a mirror for all pulls", PLAIN, &entry("r.io", &[("m.io", "")]), Some(Notice::Drain)),
        (
            "a mirror for tags",
            one,
            &entry("r.io", &[("m.io", "digest-only"), ("n.io", "tag-only")]),
            Some(Notice::Drain),
        ),
        ("a mirror is gone", two, one, Some(Notice::Drain)),
        ("the only mirror is gone", one, PLAIN, Some(Notice::Drain)),
        (
            "a mirror for digests is one for tags",
            one,
            &entry("r.io", &[("m.io", "tag-only")]),
            Some(Notice::Drain),
        ),
        ("a mirror for digests is one for all", one, &entry("r.io", &[("m.io", "")]), Some(Notice::Drain)),
        (
            "a search registry is gone",
            SEARCH,
            "unqualified-search-registries = ['a.io']",
            Some(Notice::Drain),
        ),
        (
            "search registries change places",
            SEARCH,
            "unqualified-search-registries = ['b.io', 'a.io']",
            Some(Notice::Drain),
        ),
        (
            "a search registry at the end",
            SEARCH,
            "unqualified-search-registries = ['a.io', 'b.io', 'c.io']",
            Some(Notice::Nobody),
        ),
        (
            "another prefix",
            "[[registry]]\nprefix = 'p.io'\nlocation = 'r.io'",
            "[[registry]]\nprefix = 'q.io'\nlocation = 'r.io'",
            Some(Notice::Drain),
        ),
        (
            "another location",
            "[[registry]]\nprefix = 'p.io'\nlocation = 'r.io'",
            "[[registry]]\nprefix = 'p.io'\nlocation = 's.io'",
            Some(Notice::Drain),
        ),
        ("blocked", PLAIN, &format!("{PLAIN}blocked = true"), Some(Notice::Drain)),
        ("no longer blocked", &format!("{PLAIN}blocked = true"), PLAIN, Some(Notice::Drain)),
        ("insecure", PLAIN, &format!("{PLAIN}insecure = true"), Some(Notice::Drain)),
        (
            "a digest-only mirror beside one that is listed twice",
            twice,
            &format!("{twice}{third}"),
            Some(Notice::Drain),
        ),
        ("a plain mirror under the flag", flagged_mirror, flagged_mirrors, Some(Notice::Nobody)),
    ] {
        assert_eq!(notice(old, new), expected, "{what}: {:?}", changes(old, new));
    }
}

#[test]
fn pulls_notice_what_is_not_drained_for() {
    let both = &entry("r.io", &[("m.io", "digest-only"), ("m.io", "tag-only")]);
    let one = &digest("r.io", &["m.io"]);
    let tags = |mirrors: [&str; 2]| entry("r.io", &mirrors.map(|mirror| (mirror, "tag-only")));
    let insecure = &format!("{one}insecure = true");
    for (what, old, new, expected) in [
        (
            "a new entry that blocks",
            "",
            "[[registry]]\nlocation = 'r.io'\nblocked = true\nmirror-by-digest-only = true",
            Notice::Pulls,
        ),
        ("a mirror serves digests only from now on", &entry("r.io", &[("m.io", "")]), one, Notice::Pulls),
        ("a mirror no longer serves tags as well", both, one, Notice::Pulls),
        (
            "digest-only mirrors in another order",
            &digest("r.io", &["a.io", "b.io"]),
            &digest("r.io", &["b.io", "a.io"]),
            Notice::Nobody,
        ),
        (
            "mirrors for tags in another order",
            &tags(["a.io", "b.io"]),
            &tags(["b.io", "a.io"]),
            Notice::Pulls,
        ),
        ("a mirror with a certificate", insecure, one, Notice::Pulls),
        ("how short names are treated", "short-name-mode = 'disabled'", "", Notice::Pulls),
        ("what a short name stands for", "[aliases]\nx = 'a.io/x'", "[aliases]\nx = 'b.io/x'", Notice::Pulls),
    ] {
        assert_eq!(notice(old, new), Some(expected), "{what}: {:?}", changes(old, new));
    }
}

/// What pulls of an image ask, by tag and by digest.
fn asked(entry: Option<&Registry>) -> [Vec<(String, bool)>; 2] {
    let entries: Vec<_> = entry.cloned().into_iter().collect();
    let conf = RegistriesConf::merge([("/r.conf".into(), file(&entries))]);
    let digest = format!("r.io/x@sha256:{}", "a".repeat(64));
    ["r.io/x:1", &digest].map(|image| {
        let image = Reference::parse(Dialect::Runtime, image).unwrap();
        let sources = conf.pull_sources(&image).unwrap().into_iter();
        let open = sources.filter(|source| source.blocked_by.is_none());
        open.map(|source| (source.reference.to_string(), source.insecure)).collect()
    })
}

fn file(entries: &[Registry]) -> ConfFile {
    ConfFile::parse(&render::render(entries, None)).unwrap()
}

prop_compose! {
    fn any_entry()(
        mirrors in prop::collection::vec((prop::sample::select(vec!["m.io", "n.io", "o.io"]), 0..4_usize), 0..4),
        digest_only in any::<bool>(), blocked in any::<bool>(), insecure in any::<bool>(), odd in 0..3_usize,
    ) -> Registry {
        let mirrors = mirrors.into_iter().map(|(location, serves)| Mirror {
            endpoint: RegistryEndpoint { location: location.to_owned(), ..RegistryEndpoint::default() },
            pull_from_mirror: [
                None,
                Some(PullFromMirror::All),
                Some(PullFromMirror::DigestOnly),
                Some(PullFromMirror::TagOnly),
            ][serves].filter(|_| !digest_only),
        });
        Registry {
            prefix: "r.io".to_owned(),
            endpoint: RegistryEndpoint { location: "r.io".to_owned(), insecure: insecure && odd == 0, ..RegistryEndpoint::default() },
            blocked: blocked && odd == 0,
            mirror_by_digest_only: digest_only,
            mirrors: mirrors.collect(),
        }
    }
}

/// An entry as it was and as it is: something else altogether, or some of the same mirrors and one more in any order.
fn any_change() -> impl Strategy<Value = (Option<Registry>, Option<Registry>)> {
    let edited = (any_entry(), any_entry()).prop_flat_map(|(old, other)| {
        let mut mirrors = old.mirrors.clone();
        if old.mirror_by_digest_only == other.mirror_by_digest_only {
            mirrors.extend(other.mirrors.into_iter().take(1));
        }
        let some = prop::sample::subsequence(mirrors.clone(), 0..=mirrors.len()).prop_shuffle();
        let all = Just(mirrors).prop_shuffle();
        prop_oneof![some, all]
            .prop_map(move |mirrors| (Some(old.clone()), Some(Registry { mirrors, ..old.clone() })))
    });
    prop_oneof![edited, (prop::option::of(any_entry()), prop::option::of(any_entry()))]
}

proptest! {
    #[test]
    fn nobody_notices_only_what_nobody_can((old, new) in any_change()) {
        let entries = |entry: &Option<Registry>| file(&entry.clone().into_iter().collect::<Vec<_>>());
        let changes = entries(&old).changes_to(&entries(&new));
        let ([tag_before, before], [tag_after, after]) = (asked(old.as_ref()), asked(new.as_ref()));
        let noticed = tag_before != tag_after || before.iter().any(|source| !after.contains(source));
        prop_assert!(!noticed || Notice::of(&changes) >= Some(Notice::Pulls), "{:?}", changes);
    }
}

#[test]
fn a_prefix_that_is_only_spelled_out_is_no_change() {
    let spelled = "[[registry]]\nprefix = 'r.io'\nlocation = 'r.io/'\n";
    assert_eq!(changes(PLAIN, spelled), []);
}

#[test]
fn a_change_says_what_is_different() {
    let old = digest("r.io", &["a.io", "b.io", "c.io"]);
    let new = digest("r.io", &["c.io", "b.io", "d.io"]);
    let what: Vec<_> = changes(&old, &new).into_iter().map(|change| change.what).collect();
    let order = ["c.io", "b.io", "d.io"].map(str::to_owned).to_vec();
    assert_eq!(
        what,
        [
            Changed::MirrorAdded { mirror: "d.io".into(), serves: MirrorUse::DigestOnly },
            Changed::MirrorRemoved { mirror: "a.io".into(), serves: MirrorUse::DigestOnly },
            Changed::MirrorsReordered { order },
        ]
    );
}
