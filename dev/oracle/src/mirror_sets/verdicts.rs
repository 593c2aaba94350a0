//! What the authors of the objects are promised to hear, as far as it can be stated in a line each.

use std::collections::BTreeSet;

use serde::Serialize;

use super::statement::{Statement, used_mirrors};
use super::text::{is_full_image, is_mirror, is_source};
use super::{Case, Kind, Policy, Set};

/// The rules of findings that are stated here; about the others the statement is silent.
pub const STATED: &[&str] = &[
    "mirrors/invalid-source",
    "mirrors/invalid-mirror",
    "mirrors/never-with-source",
    "mirrors/unusable-mirror",
    "mirrors/duplicate-mirror",
    "mirrors/no-mirrors",
    "mirrors/blocked-mirror",
];

/// What becomes of one object.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// `applied`, `partly` or `rejected`.
    pub outcome: &'static str,
    /// Rule and place of each stated finding.
    pub told: BTreeSet<(String, String)>,
    /// Whether the order of one of its lists is not kept, which it must be told.
    pub loses_its_order: bool,
}

impl Statement<'_> {
    /// The verdict on each object of the case that is stated.
    #[must_use]
    pub fn verdicts(&self, case: &Case) -> Vec<Verdict> {
        case.sets.iter().map(|set| self.verdict(set)).collect()
    }

    fn verdict(&self, set: &Set) -> Verdict {
        let mut told = BTreeSet::new();
        let (mut rejected, mut incomplete, mut loses_its_order) = (0, false, false);
        for (index, rule) in set.rules.iter().enumerate() {
            let list = match set.kind {
                Kind::Idms => "imageDigestMirrors",
                Kind::Itms => "imageTagMirrors",
                Kind::Icsp => "repositoryDigestMirrors",
            };
            let mut tell = |name: &str, place: String| {
                told.insert((format!("mirrors/{name}"), format!("spec.{list}[{index}]{place}")));
            };
            if !is_source(&rule.source) {
                tell("invalid-source", ".source".to_owned());
                rejected += 1;
                continue;
            }
            for (at, mirror) in rule.mirrors.iter().enumerate() {
                let place = format!(".mirrors[{at}]");
                if rule.mirrors[..at].contains(mirror) {
                    tell("duplicate-mirror", place);
                } else if rule.policy == Policy::Never && *mirror == rule.source {
                    tell("never-with-source", place);
                    incomplete = true;
                } else if !is_mirror(mirror) {
                    tell("invalid-mirror", place);
                    incomplete = true;
                } else if !is_full_image(&format!("{mirror}/a/a")) {
                    tell("unusable-mirror", place);
                    incomplete = true;
                } else if *mirror != rule.source && self.is_refused(mirror) {
                    tell("blocked-mirror", place);
                }
            }
            let names_a_mirror = rule.mirrors.iter().any(|mirror| *mirror != rule.source);
            match used_mirrors(rule) {
                None if names_a_mirror => rejected += 1,
                None => tell("no-mirrors", String::new()),
                Some(_) => {}
            }
            if let Some(mirrors) = used_mirrors(rule) {
                incomplete |= rule.policy == Policy::Allow && self.is_never_contacted(&rule.source);
                loses_its_order |= !self.keeps_order(set.kind, &rule.source, &mirrors);
            }
        }
        let outcome = match rejected {
            0 if !incomplete => "applied",
            all if all == set.rules.len() => "rejected",
            _ => "partly",
        };
        Verdict { outcome, told, loses_its_order }
    }
}
