//! Merging the mirror sets of clusters from small to larger than any.

use std::fmt;
use std::time::Instant;

use pullwright_engine::mirrors::{
    MergeInputs, MirrorSet, MirrorSetKind, MirrorSetRule, RegistrySources, SourcePolicy, merge,
};
use serde::Serialize;

use super::Span;

/// By how much the instructions for one source may grow from the second size to the last.
const GROWTH: f64 = 1.5;

/// How often each size is merged.
const TURNS: usize = 20;

/// The objects of a made-up cluster.
pub struct Cluster {
    sets: Vec<MirrorSet>,
    sources: RegistrySources,
}

/// A cluster with so many sources: hosts, repositories and wildcards, every fourth for pulls by tag, every tenth in two
/// objects that have to be merged; scopes inside them that are insecure or blocked; ten rules to an object.
#[must_use]
pub fn cluster(sources: usize) -> Cluster {
    let mut rules: [Vec<MirrorSetRule>; 3] = Default::default();
    let mut scopes =
        RegistrySources { insecure: vec!["mirror.example.com".to_owned()], ..RegistrySources::default() };
    for number in 0..sources {
        let source = match number % 50 {
            0 => format!("*.wild{number}.example.com"),
            1..=19 => format!("registry{number}.example.com"),
            20 => format!("registry{}.example.com/team", number - 1),
            _ => format!("quay.io/team{number}/app"),
        };
        let mirrors = |hosts: &[&str]| hosts.iter().map(|host| format!("{host}/m{number}")).collect();
        let policy = (number % 7 == 0).then_some(SourcePolicy::NeverContactSource);
        let first = MirrorSetRule {
            source: source.clone(),
            mirrors: mirrors(&["mirror.example.com", "b.io"]),
            policy,
        };
        match number % 20 {
            3 => scopes.insecure.push(format!("{source}/insecure")),
            4 => scopes.blocked.push(format!("{source}/blocked")),
            _ => {}
        }
        if number % 10 == 9 {
            rules[2].push(MirrorSetRule { source, mirrors: mirrors(&["b.io", "c.io"]), policy: None });
        }
        rules[usize::from(number % 4 == 3)].push(first);
    }
    let kinds = [
        MirrorSetKind::ImageDigestMirrorSet,
        MirrorSetKind::ImageTagMirrorSet,
        MirrorSetKind::ImageContentSourcePolicy,
    ];
    let sets = kinds.into_iter().zip(&rules).flat_map(|(kind, rules)| {
        let set = move |(number, rules): (usize, &[MirrorSetRule])| MirrorSet {
            kind,
            name: format!("set-{number}"),
            rules: rules.to_vec(),
        };
        rules.chunks(10).enumerate().map(set)
    });
    Cluster { sets: sets.collect(), sources: scopes }
}

impl Cluster {
    /// The file and the verdicts.
    #[must_use]
    pub fn render(&self) -> (String, usize) {
        let merged = merge(&MergeInputs { sets: &self.sets, sources: &self.sources });
        (merged.render(), merged.verdicts.len())
    }
}

/// One size.
#[derive(Debug, Serialize)]
pub struct Row {
    /// How many sources.
    pub sources: usize,
    /// How many objects name them.
    pub objects: usize,
    /// How large the file is.
    pub bytes: usize,
    /// Nanoseconds from objects to text and verdicts, which is also what a change of one object costs.
    pub merge_ns: f64,
    /// Instructions for the same.
    pub instructions: u64,
    /// Shared out over the sources.
    pub instructions_per_source: f64,
}

/// Measures one size, of which the instructions are known.
#[must_use]
pub fn measure(sources: usize, instructions: u64) -> Row {
    let mut cluster = cluster(sources);
    let bytes = cluster.render().0.len();
    let objects = cluster.sets.len();
    let merge_ns = best(|turn| {
        // One object is another one each time.
        if let Some(rule) = cluster.sets[objects / 2].rules.first_mut() {
            rule.mirrors = vec![format!("changed{turn}.io")];
        }
        cluster.render()
    });
    let per_source = as_float(instructions) / as_float(sources as u64);
    Row { sources, objects, bytes, merge_ns, instructions, instructions_per_source: per_source }
}

/// Nanoseconds of the quickest of some turns: on a machine with other work the others measure that.
fn best<T>(mut work: impl FnMut(usize) -> T) -> f64 {
    let quickest = (0..TURNS)
        .map(|turn| {
            let started = Instant::now();
            std::hint::black_box(work(turn));
            started.elapsed()
        })
        .min();
    quickest.unwrap_or_default().as_secs_f64() * 1e9
}

fn as_float(count: u64) -> f64 {
    // Exact up to 2^32, and a measurement beyond that.
    u32::try_from(count)
        .map_or_else(|_| f64::from(u32::try_from(count >> 16).unwrap_or(u32::MAX)) * 65536.0, f64::from)
}

impl Row {
    /// The names of the columns.
    #[must_use]
    pub fn header() -> String {
        format!(
            "{:>8} {:>8} {:>12} {:>16} {:>22}",
            "sources", "objects", "bytes", "after a change", "instructions/source"
        )
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sources, objects, bytes, merge_ns, instructions_per_source, .. } = self;
        write!(
            f,
            "{sources:>8} {objects:>8} {bytes:>12} {:>16} {instructions_per_source:>22.0}",
            Span(*merge_ns)
        )
    }
}

/// How the instructions for one source grow.
#[derive(Debug, Serialize)]
pub struct Growth {
    from: usize,
    to: usize,
    factor: f64,
}

impl Growth {
    /// From a small cluster to a large one.
    #[must_use]
    pub fn between(small: &Row, large: &Row) -> Self {
        let factor = large.instructions_per_source / small.instructions_per_source;
        Self { from: small.sources, to: large.sources, factor }
    }

    /// Whether it is as little as promised.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.factor < GROWTH
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = if self.is_held() { "held" } else { "NOT HELD" };
        write!(
            f,
            "instructions for one source grow {:.2}× from {} to {} sources; at most {GROWTH}×: {held}",
            self.factor, self.from, self.to
        )
    }
}
