//! Objects and entries in few letters, for files of vectors.
//!
//! ```text
//! # why
//! insecure SCOPE…
//! blocked SCOPE…
//! idms|itms|icsp NAME SOURCE -> MIRROR… [never|allow]
//! =
//! SCOPE [i] [b] { MIRROR#d MIRROR!#t … }          i, !: insecure; b: blocked; d, t: by digest, by tag
//! = runtime-utils                                 or: = runtime-utils fails
//! …
//! ```

use super::super::*;
use crate::registries::{PullFromMirror, Registry};

/// One file.
pub(super) struct Vector {
    pub(super) sets: Vec<MirrorSet>,
    pub(super) sources: RegistrySources,
    pub(super) expected: Vec<String>,
    /// What the Machine Config Operator's library makes of it; nothing if it makes the same.
    pub(super) upstream: Option<Upstream>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Upstream {
    Entries(Vec<String>),
    Fails,
}

impl Vector {
    pub(super) fn parse(text: &str) -> Self {
        let mut vector = Self {
            sets: Vec::new(),
            sources: RegistrySources::default(),
            expected: Vec::new(),
            upstream: None,
        };
        let mut part = 0;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            match (line, part) {
                ("=", 0) => part = 1,
                ("= runtime-utils", 1) => {
                    part = 2;
                    vector.upstream = Some(Upstream::Entries(Vec::new()));
                }
                ("= runtime-utils fails", 1) => vector.upstream = Some(Upstream::Fails),
                (line, 0) => vector.input(line),
                (line, 1) => vector.expected.push(line.to_owned()),
                (line, _) => match &mut vector.upstream {
                    Some(Upstream::Entries(entries)) => entries.push(line.to_owned()),
                    _ => panic!("{line}"),
                },
            }
        }
        assert!(part > 0, "no line with =");
        vector
    }

    fn input(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        match words.as_slice() {
            ["insecure", scopes @ ..] => self.sources.insecure = owned(scopes),
            ["blocked", scopes @ ..] => self.sources.blocked = owned(scopes),
            [kind, name, source, "->", mirrors @ ..] => {
                let kind = match *kind {
                    "idms" => MirrorSetKind::ImageDigestMirrorSet,
                    "itms" => MirrorSetKind::ImageTagMirrorSet,
                    "icsp" => MirrorSetKind::ImageContentSourcePolicy,
                    other => panic!("{other}"),
                };
                let (mirrors, policy) = match mirrors {
                    [mirrors @ .., "[never]"] => (mirrors, Some(SourcePolicy::NeverContactSource)),
                    [mirrors @ .., "[allow]"] => (mirrors, Some(SourcePolicy::AllowContactingSource)),
                    mirrors => (mirrors, None),
                };
                let rule = MirrorSetRule { source: (*source).to_owned(), mirrors: owned(mirrors), policy };
                match self.sets.iter_mut().find(|set| set.kind == kind && set.name == *name) {
                    Some(set) => set.rules.push(rule),
                    None => {
                        self.sets.push(MirrorSet { kind, name: (*name).to_owned(), rules: vec![rule] });
                    }
                }
            }
            _ => panic!("{line}"),
        }
    }
}

/// An entry in this notation.
pub(super) fn written(registry: &Registry) -> String {
    let mut out = registry.prefix.clone();
    for (flag, text) in [(registry.endpoint.insecure, " [i]"), (registry.blocked, " [b]")] {
        out += if flag { text } else { "" };
    }
    if !registry.mirrors.is_empty() {
        out += " {";
        for mirror in &registry.mirrors {
            let insecure = if mirror.endpoint.insecure { "!" } else { "" };
            let serves = match mirror.pull_from_mirror {
                Some(PullFromMirror::DigestOnly) => "#d",
                Some(PullFromMirror::TagOnly) => "#t",
                other => panic!("{other:?}"),
            };
            out += &format!(" {}{insecure}{serves}", mirror.endpoint.location);
        }
        out += " }";
    }
    out
}
