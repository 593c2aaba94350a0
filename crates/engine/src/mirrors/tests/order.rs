//! In which order the mirrors of several lists are asked.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::super::order::{Conflict, Ordered, ordered};

/// The order for edges written as pairs of letters.
fn sorted(edges: &str) -> String {
    let edges: Vec<Vec<&str>> = edges.split_whitespace().map(|pair| vec![&pair[..1], &pair[1..]]).collect();
    let lists: Vec<&[&str]> = edges.iter().map(Vec::as_slice).collect();
    ordered("~", &lists).mirrors.concat()
}

#[test]
fn the_order_is_that_of_runtime_utils_whatever_comes_first() {
    for (edges, order) in [
        ("", ""),
        ("AB AC AD ab ac ad", "AaBCDbcd"),
        ("AD BD CD ad bd cd", "ABCabcDd"),
        ("AB BC CD DE ab bc cd de", "AaBbCcDdEe"),
        ("AB BC CD DA ab bc cd da", "ABCDabcd"),
        ("AB BC CD DB DE ab bc cd db de", "AaBCDEbcde"),
        ("AB AC BD CD", "ABCD"),
        ("AB BA AS BS", "ABS"),
    ] {
        let mut rotated: Vec<&str> = edges.split_whitespace().collect();
        for _ in 0..=rotated.len() {
            assert_eq!(sorted(&rotated.join(" ")), order);
            let by = usize::from(!rotated.is_empty());
            rotated.rotate_left(by);
        }
    }
}

#[test]
fn a_list_that_loses_is_named_with_the_one_it_loses_to() {
    let conflicts = ordered("s", &[&["b", "a"], &["c"], &["a", "b"]]).conflicts;
    assert_eq!(conflicts, [Conflict { list: 0, before: "b", after: "a", against: Some(2) }]);
    let circle = ordered("s", &[&["c", "a"], &["a", "b"], &["b", "c"]]).conflicts;
    assert_eq!(circle, [Conflict { list: 0, before: "c", after: "a", against: Some(2) }]);
    let long = ordered("s", &[&["c", "a", "b"], &["b", "c"]]).conflicts;
    assert_eq!(long, [Conflict { list: 0, before: "c", after: "a", against: Some(1) }]);
    // What stands behind a circle is asked first, because of the alphabet, and "a", "d" has no part in that.
    let behind = ordered("s", &[&["c", "a"], &["b", "c"], &["c", "b"], &["a", "d"]]).conflicts;
    assert_eq!(
        behind,
        [
            Conflict { list: 0, before: "c", after: "a", against: Some(1) },
            Conflict { list: 2, before: "c", after: "b", against: Some(1) },
        ]
    );
    assert_eq!(ordered("s", &[&["a", "b"], &["b", "c"]]).conflicts, []);
}

#[test]
fn what_is_written_comes_before_the_implied_source_at_the_end() {
    for (source, lists, order, yields) in [
        // The lists agree with each other; only what the second does not say would contradict the first.
        ("a", &["an", "nk"][..], "ank", &[(1, "n", 0)][..]),
        ("z", &["zn", "nk"], "znk", &[(1, "n", 0)]),
        ("a", &["az", "z"], "az", &[(1, "z", 0)]),
        // In front of the source is everything that nobody puts behind it.
        ("s", &["sz", "a"], "asz", &[]),
        ("s", &["sx", "mx"], "msx", &[(1, "x", 0)]),
        ("s", &["sbc", "cb"], "sbc", &[(1, "c", 0)]),
        // Two that write the opposite: mirrors go first.
        ("a", &["az", "za"], "z", &[]),
        // A contradiction in front of the source costs nobody behind it.
        ("s", &["sa", "bc", "cb"], "bcsa", &[]),
    ] {
        let letters: Vec<Vec<&str>> =
            lists.iter().map(|list| list.split("").filter(|it| !it.is_empty()).collect()).collect();
        let found = ordered_lists(source, &letters);
        assert_eq!(found.mirrors.concat(), order, "{source} {lists:?}");
        let told: Vec<_> = found.earlier.iter().map(|it| (it.list, it.mirror, it.against)).collect();
        assert_eq!(told, yields, "{source} {lists:?}");
    }
}

fn ordered_lists<'a>(source: &str, lists: &[Vec<&'a str>]) -> Ordered<'a> {
    let lists: Vec<&[&str]> = lists.iter().map(Vec::as_slice).collect();
    ordered(source, &lists)
}

const MIRRORS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// A source, one of the mirrors or none of them, and lists.
fn any_lists() -> impl Strategy<Value = (&'static str, Vec<Vec<&'static str>>)> {
    let list = subsequence(MIRRORS.to_vec(), 1..=4).prop_shuffle();
    (select(&["a", "c", "f", "g"][..]), proptest::collection::vec(list, 1..6))
}

type Edges = BTreeSet<(&'static str, &'static str)>;

/// What the lists say themselves: each before the next.
fn written(lists: &[Vec<&'static str>]) -> Edges {
    lists.iter().flat_map(|list| list.windows(2).map(|pair| (pair[0], pair[1]))).collect()
}

/// Whether some order keeps all of it: whatever nothing precedes can be taken away until nothing is left.
fn has_common_order(mut edges: Edges) -> bool {
    loop {
        let held: BTreeSet<_> = edges.iter().map(|edge| edge.1).collect();
        let left: Edges = edges.iter().copied().filter(|edge| held.contains(edge.0)).collect();
        if left.len() == edges.len() {
            return edges.is_empty();
        }
        edges = left;
    }
}

/// Where a mirror is asked; the source last of all if it is not among them.
fn place(order: &[&str], mirror: &str) -> usize {
    order.iter().position(|it| *it == mirror).unwrap_or(order.len())
}

proptest! {
    #[test]
    fn lists_that_agree_are_all_kept((source, lists) in any_lists()) {
        let edges = written(&lists);
        prop_assume!(has_common_order(edges.clone()));
        let found = ordered_lists(source, &lists);
        for (before, after) in edges {
            prop_assert!(place(&found.mirrors, before) < place(&found.mirrors, after), "{:?}", found.mirrors);
        }
        prop_assert_eq!(found.conflicts, []);
    }

    /// Who writes that the source is asked before a mirror loses that only to somebody who writes the opposite.
    #[test]
    fn a_source_that_is_named_early_is_early((source, lists) in any_lists()) {
        let edges = written(&lists);
        let mut behind = BTreeSet::new();
        for _ in MIRRORS {
            let next = edges.iter().filter(|edge| edge.0 == source || behind.contains(edge.0));
            behind.extend(next.map(|edge| edge.1).collect::<Vec<_>>());
        }
        let found = ordered_lists(source, &lists).mirrors;
        for mirror in found.iter().filter(|it| **it != source) {
            let early = place(&found, source) < place(&found, mirror);
            if !behind.contains(mirror) {
                prop_assert!(!early, "{}: {:?}", mirror, found);
            } else if !behind.contains(source) {
                prop_assert!(early, "{}: {:?}", mirror, found);
            }
        }
    }

    /// Both authors hear of whatever is not kept.
    #[test]
    fn nothing_yields_in_silence((source, lists) in any_lists()) {
        let found = ordered_lists(source, &lists);
        for (index, list) in lists.iter().enumerate() {
            let backwards = list.windows(2).any(|pair| place(&found.mirrors, pair[0]) > place(&found.mirrors, pair[1]));
            let told: Vec<_> = found.conflicts.iter().filter(|it| it.list == index).collect();
            prop_assert_eq!(told.len(), usize::from(backwards));
            for conflict in told {
                prop_assert!(conflict.against.is_some_and(|other| other != index), "{:?}", conflict);
            }
            let source_early = !list.contains(&source)
                && list.iter().any(|it| place(&found.mirrors, source) < place(&found.mirrors, it));
            let told: Vec<_> = found.earlier.iter().filter(|it| it.list == index).collect();
            prop_assert_eq!(told.len(), usize::from(source_early));
            for earlier in told {
                prop_assert!(lists[earlier.against].contains(&source), "{:?}", earlier);
            }
        }
    }

    #[test]
    fn the_order_of_lists_changes_nothing(
        (source, lists, turned) in any_lists().prop_flat_map(|(source, lists)| {
            (Just(source), Just(lists.clone()), Just(lists).prop_shuffle())
        }),
    ) {
        prop_assert_eq!(ordered_lists(source, &lists).mirrors, ordered_lists(source, &turned).mirrors);
    }
}
