//! Made-up objects: few names, so that they meet, and now and then one that should not be there.

use std::collections::BTreeSet;

use super::text::{is_full_image, is_mirror};
use super::{Case, Kind, Policy, Rule, Set};
use crate::random::Random;

/// How many images are pulled in each case.
const PROBES: usize = 6;

const SOURCE_HOSTS: &[&str] = &[
    "quay.io",
    "quay.io:443",
    "a.example.com",
    "foo.example.com",
    "foo.example.com:5000",
    "x.y.example.com",
    "docker.io",
    "localhost:5000",
    "r.io.r.io",
];
const WILDCARDS: &[&str] = &["*.example.com", "*.y.example.com", "*.com", "*.io", "*.r.io", "*.io.r.io"];
const PATHS: &[&str] = &["", "", "/a", "/a/b", "/a/b/c", "/b", "/ab", "/a-b", "/library"];
const MIRROR_HOSTS: &[&str] =
    &["m.io", "n.io", "m.io:5000", "b.example.com", "a.m.io", "localhost", "Zoo.io"];
const ODD: &[&str] = &[
    "",
    "m",
    "m/a",
    "index.docker.io",
    "index.docker.io/a",
    "quay.io/A",
    "quay.io/a:1",
    "*.example.com/a",
    "*.io:443",
    "*example.com",
    "**.example.com",
    "*",
    "*.",
    "https://quay.io",
    "quay.io/",
    "quay.io ",
    "quay.io//a",
    "-a.io",
    "quay..io",
    "quay.io:",
    "quay.io/a__b",
    "quay.io/a___b",
    "quay.io/a--b",
    "quay.io/a.-b",
    "é.io",
    "[::1]:5000/a",
    "quay_io/a",
    "quay.io/a@b",
    "quay.io\n",
];

/// Makes a case.
#[must_use]
pub fn case(random: &mut Random) -> Case {
    // Some cases are about one source and its lists, others about many scopes inside each other.
    let one_source = random.one_in(4).then(|| source(random));
    let sets = (0..=random.below(4)).map(|number| set(random, number, one_source.as_deref())).collect();
    let insecure = scopes(random);
    let blocked = scopes(random);
    let mut case = Case { sets, insecure, blocked, probes: Vec::new() };
    let named = names(&case);
    case.probes = (0..PROBES).map(|_| probe(random, &named)).collect();
    case
}

fn set(random: &mut Random, number: usize, one_source: Option<&str>) -> Set {
    let kind = match random.below(5) {
        0 | 1 => Kind::Idms,
        2 | 3 => Kind::Itms,
        _ => Kind::Icsp,
    };
    let count = 1 + random.below(3);
    let rules = (0..count)
        .map(|_| {
            let source = one_source.map_or_else(|| source(random), str::to_owned);
            rule(random, source, kind)
        })
        .collect();
    Set { kind, name: format!("set-{number}"), rules }
}

fn rule(random: &mut Random, source: String, kind: Kind) -> Rule {
    let mut mirrors: Vec<String> = (0..random.below(5)).map(|_| mirror(random, &source)).collect();
    // The API has a set of them, except in the oldest kind.
    if !random.odd(10) {
        let mut seen = BTreeSet::new();
        mirrors.retain(|mirror| *mirror != source && seen.insert(mirror.clone()));
    }
    if random.one_in(6) {
        let place = random.below(mirrors.len() + 1);
        mirrors.insert(place, source.clone());
    }
    let policy = match random.below(8) {
        _ if kind == Kind::Icsp => Policy::Unset,
        0 | 1 => Policy::Never,
        2 => Policy::Allow,
        _ => Policy::Unset,
    };
    Rule { source, mirrors, policy }
}

fn source(random: &mut Random) -> String {
    if random.odd(40) {
        return random.pick(ODD).to_owned();
    }
    if random.one_in(5) {
        return random.pick(WILDCARDS).to_owned();
    }
    format!("{}{}", random.pick(SOURCE_HOSTS), random.pick(PATHS))
}

/// Mostly a place of its own; sometimes the source, another source, or none at all.
fn mirror(random: &mut Random, source: &str) -> String {
    if random.odd(60) {
        return random.pick(ODD).to_owned();
    }
    match random.below(12) {
        // Fits the pattern, and no name can be made of it.
        _ if random.odd(15) => random.pick(&["m", "m/a", "index.docker.io", "index.docker.io/a"]).to_owned(),
        0 => format!("{}{}", random.pick(SOURCE_HOSTS), random.pick(PATHS)),
        // Sorts around the source, which is what cutting circles is about.
        1 if !source.starts_with('*') => format!("{source}/z"),
        _ => format!("{}{}", random.pick(MIRROR_HOSTS), random.pick(&["", "", "/a", "/sub", "/sub/a"])),
    }
}

fn scopes(random: &mut Random) -> Vec<String> {
    if random.one_in(2) {
        return Vec::new();
    }
    random.several(3, |random| match random.below(4) {
        0 => mirror(random, "*"),
        _ => source(random),
    })
}

/// All scopes of a case.
fn names(case: &Case) -> Vec<String> {
    let rules = case.sets.iter().flat_map(|set| &set.rules);
    let named = rules.flat_map(|rule| std::iter::once(&rule.source).chain(rule.mirrors.first()));
    named.chain(&case.insecure).chain(&case.blocked).cloned().collect()
}

/// An image at, below or beside a scope of the case, in full and well-formed.
fn probe(random: &mut Random, named: &[String]) -> String {
    let scope = if named.is_empty() || random.one_in(8) {
        format!("{}{}", random.pick(SOURCE_HOSTS), random.pick(PATHS))
    } else {
        named[random.below(named.len())].clone()
    };
    let scope = scope.replacen('*', random.pick(&["a", "foo", "x.y", "q", "b.x", "r.io"]), 1);
    let port = if random.one_in(8) && !scope.contains([':', '/']) { ":443" } else { "" };
    let path = random.pick(&["/app", "/a/app", "/a/b", "/a/b/c", "/b/app", "/sub/a/x", "/library/app", ""]);
    let version = match random.below(5) {
        0 | 1 => ":1".to_owned(),
        2 | 3 => format!("@sha256:{}", "0123456789abcdef".repeat(4)),
        _ => format!(":1@sha256:{}", "0123456789abcdef".repeat(4)),
    };
    let image = format!("{scope}{port}{path}{version}");
    if is_mirror(&scope) && is_full_image(&image) { image } else { format!("{}:1", plain_image(random)) }
}

fn plain_image(random: &mut Random) -> String {
    format!("{}{}/app", random.pick(SOURCE_HOSTS), random.pick(&["/a", "/b", "/library"]))
}
