//! Whole clusters: the file that the engine makes of their objects, read by the library, and what it then pulls, beside
//! what the API's text promises.

use std::collections::{BTreeSet, HashMap};

use pullwright_engine::mirrors::{
    MergeInputs, Merged, MirrorSet, MirrorSetKind as EngineKind, MirrorSetRule as EngineRule,
    RegistrySources, SourcePolicy, merge,
};
use serde_json::{Value, json};

use crate::mirror_sets::statement::{Asked, Statement};
use crate::mirror_sets::verdicts::STATED;
use crate::mirror_sets::{Case, Kind, Policy, Rule, generate};
use crate::operation::{Operation, Report, fewer};
use crate::random::Random;

/// The operation. A case counts as one answer, however many images it pulls.
pub(super) struct MirrorSets;

impl Operation for MirrorSets {
    const NAME: &'static str = "mirror-sets";
    const OP: &'static str = "registries";
    const BATCH: usize = 1;

    type Case = Case;

    fn generate(random: &mut Random) -> Case {
        generate::case(random)
    }

    /// The file, the images, and every place that is promised for them, to see which of those are blocked.
    fn request(case: &Case) -> Value {
        let main = merged(case).render();
        let queries = queries(case, &promised(case));
        json!({ "main": main, "dropins": [], "queries": queries, "short_names": [] })
    }

    fn questions(_: &Case) -> usize {
        1
    }

    fn compare(case: &Case, theirs: &Value, report: &mut Report) {
        let promised = promised(case);
        let blocked = blocked(case, &promised, theirs);
        for (index, (probe, promised)) in case.probes.iter().zip(&promised).enumerate() {
            let promised = json!(promised);
            let pulled = pulled(probe, &theirs["queries"][index], &blocked);
            if promised != pulled {
                return report.answer(|| format!("pull of {probe}, promised and pulled"), promised, &pulled);
            }
        }
        let given = merged(case);
        let (stated, told) = verdicts(case, &given);
        if stated != told {
            return report.answer(|| "the verdicts, promised and given".to_owned(), stated, &told);
        }
        let (given, turned) = orders(case, given);
        report.answer(|| "the order of the objects".to_owned(), given, &turned);
    }

    fn shrink(case: &Case) -> Vec<Case> {
        let mut smaller = Vec::new();
        smaller.extend(fewer(&case.probes).into_iter().map(|probes| Case { probes, ..case.clone() }));
        smaller.extend(fewer(&case.sets).into_iter().map(|sets| Case { sets, ..case.clone() }));
        smaller.extend(fewer(&case.insecure).into_iter().map(|insecure| Case { insecure, ..case.clone() }));
        smaller.extend(fewer(&case.blocked).into_iter().map(|blocked| Case { blocked, ..case.clone() }));
        for (set, object) in case.sets.iter().enumerate() {
            for rules in fewer(&object.rules) {
                let mut case = case.clone();
                case.sets[set].rules = rules;
                smaller.push(case);
            }
            for (rule, Rule { mirrors, .. }) in object.rules.iter().enumerate() {
                for mirrors in fewer(mirrors) {
                    let mut case = case.clone();
                    case.sets[set].rules[rule].mirrors = mirrors;
                    smaller.push(case);
                }
            }
        }
        smaller
    }
}

/// What the statement promises for each image.
type Promised = Vec<Option<Vec<Asked>>>;

fn promised(case: &Case) -> Promised {
    let statement = Statement::of(case);
    case.probes.iter().map(|probe| statement.pull(probe)).collect()
}

/// The images, and behind them the other promised places, each once.
fn queries(case: &Case, promised: &Promised) -> Vec<String> {
    let places = promised.iter().flatten().flatten().map(|asked| &asked.reference);
    let others: BTreeSet<&String> = places.filter(|place| !case.probes.contains(place)).collect();
    case.probes.iter().chain(others).cloned().collect()
}

/// For each of the promised places whether the library's entries block it.
fn blocked(case: &Case, promised: &Promised, theirs: &Value) -> HashMap<String, bool> {
    let entries = theirs["config"]["registries"].as_array().into_iter().flatten();
    let blocked: Vec<&str> = entries
        .filter(|entry| entry["blocked"] == true)
        .filter_map(|entry| entry["prefix"].as_str())
        .collect();
    let is_blocked =
        |answer: &Value| answer["pull"]["found"].as_str().is_some_and(|prefix| blocked.contains(&prefix));
    let answers = theirs["queries"].as_array().into_iter().flatten().map(is_blocked);
    queries(case, promised).into_iter().zip(answers).collect()
}

/// What the library does for an image, in the words of the statement.
fn pulled(probe: &str, answer: &Value, blocked: &HashMap<String, bool>) -> Value {
    let pull = &answer["pull"];
    if pull["error"].is_string() {
        return Value::Null;
    }
    let Some(sources) = pull["sources"].as_array() else {
        // No entry governs the name: it is asked for as it is.
        return match (pull.is_object(), pull["found"].is_null()) {
            (true, true) => json!([{ "reference": probe, "insecure": false, "refused": false }]),
            _ => answer.clone(),
        };
    };
    let source = |source: &Value| {
        let place = source["reference"].as_str().unwrap_or_default();
        json!({ "reference": place, "insecure": source["insecure"], "refused": blocked.get(place) })
    };
    sources.iter().map(source).collect()
}

fn merged(case: &Case) -> Merged {
    merge(&MergeInputs { sets: &mirror_sets(case), sources: &registry_sources(case) })
}

/// The verdicts that are promised, and the engine's as far as the statement goes.
fn verdicts(case: &Case, given: &Merged) -> (Value, Value) {
    let stated = Statement::of(case).verdicts(case);
    let told: Vec<Value> = given
        .verdicts
        .iter()
        .zip(&stated)
        .map(|(verdict, stated)| {
            let findings = verdict.findings.iter();
            let places = findings.filter(|finding| STATED.contains(&finding.rule.name()));
            let told: BTreeSet<_> = places.map(|finding| (finding.rule.name(), finding.at.to_string())).collect();
            // Who gets their way may hear of the conflict as well.
            let hears = verdict.findings.iter().any(|finding| finding.rule.name() == "mirrors/order-conflict");
            json!({ "outcome": verdict.outcome, "told": told, "loses_its_order": hears && stated.loses_its_order })
        })
        .collect();
    (json!(stated), json!(told))
}

/// Text and verdicts for the objects as they are given, and in the opposite order; nothing if they are the same.
fn orders(case: &Case, given: Merged) -> (Value, Value) {
    let mut sets = mirror_sets(case);
    sets.reverse();
    let mut turned = merge(&MergeInputs { sets: &sets, sources: &registry_sources(case) });
    turned.verdicts.reverse();
    if given == turned && given.render() == turned.render() {
        return (Value::Null, Value::Null);
    }
    let shown = |merged: Merged| json!({ "text": merged.render(), "verdicts": merged.verdicts });
    (shown(given), shown(turned))
}

fn mirror_sets(case: &Case) -> Vec<MirrorSet> {
    let rule = |rule: &Rule| EngineRule {
        source: rule.source.clone(),
        mirrors: rule.mirrors.clone(),
        policy: match rule.policy {
            Policy::Unset => None,
            Policy::Never => Some(SourcePolicy::NeverContactSource),
            Policy::Allow => Some(SourcePolicy::AllowContactingSource),
        },
    };
    case.sets
        .iter()
        .map(|set| MirrorSet {
            kind: match set.kind {
                Kind::Idms => EngineKind::ImageDigestMirrorSet,
                Kind::Itms => EngineKind::ImageTagMirrorSet,
                Kind::Icsp => EngineKind::ImageContentSourcePolicy,
            },
            name: set.name.clone(),
            rules: set.rules.iter().map(rule).collect(),
        })
        .collect()
}

fn registry_sources(case: &Case) -> RegistrySources {
    RegistrySources {
        insecure: case.insecure.clone(),
        blocked: case.blocked.clone(),
        ..RegistrySources::default()
    }
}
