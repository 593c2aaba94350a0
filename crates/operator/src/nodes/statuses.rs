//! What is said about the objects that users wrote: conditions, or Events where their kind has no room for conditions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::ApiResource;
use pullwright_api::openshift::MachineConfig;
use pullwright_api::{NodeConfiguration, condition};
use pullwright_engine::mirrors::{ObjectOutcome, Verdict};
use pullwright_findings::Finding;

use super::decide::{Decision, NodeCount, Target};
use super::observed::{Observed, ObservedDelivery, UserKind, UserObject};
use crate::category::Category;
use crate::write::{EventNote, StatusWrite, shortened};

/// The longest message that the API takes in a condition.
const MESSAGE_LIMIT: usize = 32_768;
/// The reason of the Event about what a runtime cannot do.
const UNSUPPORTED: &str = "Unsupported";
/// How many findings a message lists; `pullwright lint` shows all.
const FINDINGS_SHOWN: usize = 10;

/// Conditions of an object that are not as they should be.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionsChange {
    /// The object's kind.
    pub kind: UserKind,
    /// The write that sets them.
    pub write: StatusWrite,
    /// Whether only numbers in a message are different from before. Such a write can wait.
    pub only_progress: bool,
}

/// Everything to be said.
#[derive(Debug, Default)]
pub struct Statuses {
    /// Conditions that are not as they should be.
    pub conditions: Vec<ConditionsChange>,
    /// What has to be said in other ways.
    pub events: Vec<EventNote>,
}

/// The conditions that somebody else owns: the uid and the generation of the object, and their type. They are tried again when the object
/// changes.
pub type ForeignConditions = BTreeSet<(String, i64, String)>;

/// Decides what is to be said. `failures` are the writes of delivery objects that failed, by object.
#[must_use]
pub fn statuses(
    observed: &Observed,
    decision: &Decision,
    failures: &BTreeMap<String, (Category, String)>,
    foreign: &ForeignConditions,
    now: Timestamp,
) -> Statuses {
    let mut statuses = Statuses::default();
    for (object, verdict) in observed.mirror_sets.iter().zip(&decision.merged.verdicts) {
        if observed.without_conditions.contains(&object.kind) {
            statuses.events.extend(verdict_event(reference(object), verdict));
        } else {
            statuses.conditions.extend(change(object, vec![verdict_condition(verdict)], foreign, now));
        }
    }
    if let Some(image) = &observed.image {
        statuses.events.extend(verdict_event(reference(image), &decision.merged.sources));
        if let Err(error) = &decision.merged.policy {
            let note = format!("policy.json is not written: {error}; {}", error.help());
            statuses.events.push(warning(reference(image), condition::REJECTED, note));
        }
    }
    if let Some(provider) = &observed.provider {
        let wanted = provider_conditions(decision, failures);
        statuses.conditions.extend(change(provider, wanted, foreign, now));
    }
    for target in &decision.targets {
        if let (Some(object), [_, ..]) = (&target.object, target.unsupported.as_slice()) {
            statuses.events.push(unsupported(observed, target, object));
        }
    }
    for (kind, name, why) in &observed.unparsable {
        let resource = kind.resource();
        let regarding = ObjectReference {
            api_version: Some(resource.api_version),
            kind: Some(resource.kind),
            name: Some(name.clone()),
            ..ObjectReference::default()
        };
        let note = format!("the object cannot be read, so it counts as it last was, or not at all: {why}");
        statuses.events.push(warning(regarding, Category::Unparsable.as_str(), note));
    }
    statuses
}

/// What a runtime cannot do is said about what is delivered to it: it follows from all objects together. Which settings these are
/// `pullwright render` says, so that not every change has to be told.
fn unsupported(observed: &Observed, target: &Target, object: &str) -> EventNote {
    let resource = match &observed.delivery {
        ObservedDelivery::NodeAgent { .. } => ApiResource::erase::<NodeConfiguration>(&()),
        ObservedDelivery::MachineConfig { .. } => ApiResource::erase::<MachineConfig>(&()),
    };
    let regarding = ObjectReference {
        api_version: Some(resource.api_version),
        kind: Some(resource.kind),
        name: Some(object.to_owned()),
        ..ObjectReference::default()
    };
    // Neither which nor how many: a note that changes with every mirror set would be an Event for each change.
    let note = format!(
        "some settings have no effect on nodes of {0}; `pullwright render --for {0}` lists them",
        target.name
    );
    EventNote { topic: Some(target.name.clone()), ..warning(regarding, UNSUPPORTED, note) }
}

/// A condition before it is known since when it holds.
struct WantedCondition {
    type_: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
}

fn verdict_condition(verdict: &Verdict) -> WantedCondition {
    let (status, reason) = match verdict.outcome {
        ObjectOutcome::Applied => ("True", condition::APPLIED),
        ObjectOutcome::Partly => ("False", condition::PARTLY_APPLIED),
        ObjectOutcome::Rejected => ("False", condition::REJECTED),
    };
    WantedCondition { type_: condition::APPLIED, status, reason, message: findings(&verdict.findings) }
}

fn verdict_event(regarding: ObjectReference, verdict: &Verdict) -> Option<EventNote> {
    let reason = match verdict.outcome {
        ObjectOutcome::Applied if verdict.findings.is_empty() => return None,
        ObjectOutcome::Applied => condition::APPLIED,
        ObjectOutcome::Partly => condition::PARTLY_APPLIED,
        ObjectOutcome::Rejected => condition::REJECTED,
    };
    Some(warning(regarding, reason, findings(&verdict.findings)))
}

fn findings(findings: &[Finding]) -> String {
    let shown =
        findings.iter().take(FINDINGS_SHOWN).map(|finding| format!("{}: {}", finding.at, finding.message));
    let mut lines: Vec<String> = shown.collect();
    if findings.len() > FINDINGS_SHOWN {
        lines.push(format!("and {} more; `pullwright lint` shows all", findings.len() - FINDINGS_SHOWN));
    }
    lines.join("; ")
}

fn provider_conditions(
    decision: &Decision,
    failures: &BTreeMap<String, (Category, String)>,
) -> Vec<WantedCondition> {
    vec![validated(decision), rendered(decision, failures), nodes_updated(decision)]
}

fn validated(decision: &Decision) -> WantedCondition {
    let entries = &decision.entries;
    let invalid = entries.invalid.iter().map(|invalid| format!("{:?}: {}", invalid.entry, invalid.why));
    let conflicts = entries.conflicts.iter().map(|conflict| {
        format!(
            "{:?} conflicts with {:?} of provider {}, which keeps these images",
            conflict.entry, conflict.pattern, conflict.provider
        )
    });
    let left_out: Vec<String> = invalid.chain(conflicts).collect();
    let reason = if !entries.invalid.is_empty() {
        condition::VALIDATION_FAILED
    } else if !entries.conflicts.is_empty() {
        condition::CONFIGURATION_PARTIALLY_APPLIED
    } else {
        condition::SUCCEEDED
    };
    let message = match (left_out.as_slice(), entries.applied.len()) {
        ([], 0) => "no images are listed, so the kubelets do not ask the plugin".to_owned(),
        ([], 1) => "the kubelets ask the plugin for 1 entry".to_owned(),
        ([], applied) => format!("the kubelets ask the plugin for {applied} entries"),
        (left_out, _) => format!("these entries of matchImages have no effect: {}", left_out.join("; ")),
    };
    WantedCondition { type_: condition::VALIDATED, status: truth(left_out.is_empty()), reason, message }
}

fn rendered(decision: &Decision, failures: &BTreeMap<String, (Category, String)>) -> WantedCondition {
    let refused = decision.targets.iter().filter_map(|target| {
        let refused = target.refused.as_ref();
        refused.or_else(|| failures.get(target.object.as_ref()?))
    });
    // The same cause can hold for every target; it is said once.
    let mut causes: Vec<&(Category, String)> = refused.collect();
    causes.dedup();
    let (reason, message) = match causes.as_slice() {
        [] => {
            let names: Vec<&str> =
                decision.targets.iter().filter_map(|target| target.object.as_deref()).collect();
            let message = if names.is_empty() {
                "there is nothing to bring to the nodes".to_owned()
            } else {
                format!("written to {}", names.join(", "))
            };
            (condition::MACHINE_CONFIG_RENDERING_SUCCEEDED, message)
        }
        [(category, _), ..] => {
            let whys: Vec<&str> = causes.iter().map(|(_, why)| why.as_str()).collect();
            (category.as_str(), whys.join("; "))
        }
    };
    WantedCondition {
        type_: condition::MACHINE_CONFIG_RENDERED,
        status: truth(causes.is_empty()),
        reason,
        message,
    }
}

fn nodes_updated(decision: &Decision) -> WantedCondition {
    let NodeCount { total, updated, failed } =
        decision.targets.iter().fold(NodeCount::default(), |count, target| count.add(target.nodes));
    let message = match failed {
        0 => format!("{updated} of {total} nodes have it"),
        failed => {
            let mut message = format!("{updated} of {total} nodes have it, and {failed} could not take it");
            // The Machine Config Operator knows the names, and paces by rules of its own.
            let named: Vec<&str> = decision
                .targets
                .iter()
                .flat_map(|target| &target.failed)
                .take(FINDINGS_SHOWN)
                .map(String::as_str)
                .collect();
            if !named.is_empty() {
                let more = if failed > named.len() { ", …" } else { "" };
                let _ = write!(message, ", so no other node gets it: {}{more}", named.join(", "));
            }
            message
        }
    };
    let (status, reason) = if total == 0 {
        ("Unknown", condition::NO_NODES)
    } else if failed > 0 {
        ("False", condition::NODES_FAILED)
    } else if updated < total {
        ("False", condition::ROLLING_OUT)
    } else {
        ("True", condition::ALL_NODES)
    };
    WantedCondition { type_: condition::NODES_UPDATED, status, reason, message }
}

fn truth(is: bool) -> &'static str {
    if is { "True" } else { "False" }
}

/// The change to these conditions; `None` if they are so already.
fn change<T>(
    object: &UserObject<T>,
    wanted: Vec<WantedCondition>,
    foreign: &ForeignConditions,
    now: Timestamp,
) -> Option<ConditionsChange> {
    let is_ours = |wanted: &WantedCondition| {
        !foreign.contains(&(object.uid.clone(), object.generation, wanted.type_.to_owned()))
    };
    let (mut different, mut only_progress) = (false, true);
    let mut conditions = Vec::new();
    for wanted in wanted.into_iter().filter(is_ours) {
        let message = shortened(wanted.message, MESSAGE_LIMIT);
        let before = object.conditions.iter().find(|before| before.type_ == wanted.type_);
        let same_status = before.filter(|before| before.status == wanted.status);
        let same_case = same_status.filter(|before| {
            before.reason == wanted.reason && before.observed_generation == Some(object.generation)
        });
        let same = same_case.is_some_and(|before| before.message == message);
        different |= !same;
        only_progress &= same || (wanted.type_ == condition::NODES_UPDATED && same_case.is_some());
        conditions.push(Condition {
            type_: wanted.type_.to_owned(),
            status: wanted.status.to_owned(),
            reason: wanted.reason.to_owned(),
            message,
            observed_generation: Some(object.generation),
            last_transition_time: same_status
                .map_or_else(|| Time(now), |before| before.last_transition_time.clone()),
        });
    }
    let write = StatusWrite {
        resource: object.kind.resource(),
        name: object.name.clone(),
        uid: object.uid.clone(),
        resource_version: object.resource_version.clone(),
        conditions,
    };
    different.then_some(ConditionsChange { kind: object.kind, write, only_progress })
}

fn reference<T>(object: &UserObject<T>) -> ObjectReference {
    let resource = object.kind.resource();
    ObjectReference {
        api_version: Some(resource.api_version),
        kind: Some(resource.kind),
        name: Some(object.name.clone()),
        uid: Some(object.uid.clone()),
        ..ObjectReference::default()
    }
}

fn warning(regarding: ObjectReference, reason: &str, note: String) -> EventNote {
    EventNote { regarding, topic: None, reason: reason.to_owned(), note, warning: true }
}
