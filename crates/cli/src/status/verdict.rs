//! What the conditions of an object say became of it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pullwright_api::condition;
use serde::Serialize;

use super::objects::JudgedObject;

/// What became of an object, the worse the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// All of it is in effect, or on its way without a problem.
    Applied,
    /// Its kind has no conditions in this cluster, so only Events tell.
    NoConditions,
    /// The operator has not judged it yet, or nodes still wait for it.
    Waiting,
    /// Some of it is left out.
    Partly,
    /// All of it is left out.
    Rejected,
    /// It is valid, but could not be brought to where it should be.
    Failed,
}

/// One condition that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ConditionReport {
    pub(crate) condition: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl From<&Condition> for ConditionReport {
    fn from(condition: &Condition) -> Self {
        Self {
            condition: condition.type_.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
        }
    }
}

/// The condition with the verdict on a kind, if its objects have one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verdict {
    /// It is in this condition. Without it, the object is not judged yet.
    In(&'static str),
    /// It may be missing, because the definition of the kind is not ours.
    Perhaps,
}

/// What became of an object, and the conditions that say so if it is not good.
pub(super) fn outcome(object: &JudgedObject, verdict: Verdict) -> (Outcome, Vec<ConditionReport>) {
    let current = |condition: &&Condition| is_current(condition, object.generation);
    let judged: Vec<_> =
        object.conditions.iter().filter(current).filter_map(|one| Some((meaning(one)?, one))).collect();
    let missing = match verdict {
        Verdict::In(type_) if !judged.iter().any(|(_, one)| one.type_ == type_) => Some(Outcome::Waiting),
        Verdict::Perhaps if object.conditions.is_empty() => Some(Outcome::NoConditions),
        Verdict::Perhaps if judged.is_empty() => Some(Outcome::Waiting),
        Verdict::In(_) | Verdict::Perhaps => None,
    };
    let outcome = judged.iter().map(|(outcome, _)| *outcome).chain(missing).max().unwrap_or(Outcome::Applied);
    let reports = judged.iter().filter(|(outcome, _)| *outcome != Outcome::Applied);
    (outcome, reports.map(|(_, one)| ConditionReport::from(*one)).collect())
}

/// Whether a condition is about the object as it is now.
fn is_current(condition: &Condition, generation: i64) -> bool {
    condition.observed_generation.is_none_or(|observed| observed >= generation)
}

/// What one condition says; `None` if it is none of ours.
fn meaning(one: &Condition) -> Option<Outcome> {
    let (type_, reason) = (one.type_.as_str(), one.reason.as_str());
    let verdict = type_ == condition::APPLIED || type_ == condition::VALIDATED;
    if !verdict && type_ != condition::MACHINE_CONFIG_RENDERED && type_ != condition::NODES_UPDATED {
        return None;
    }
    Some(match (one.status.as_str(), reason) {
        ("True", _) | (_, condition::NO_NODES) => Outcome::Applied,
        ("False", condition::PARTLY_APPLIED | condition::CONFIGURATION_PARTIALLY_APPLIED) if verdict => {
            Outcome::Partly
        }
        ("False", condition::REJECTED | condition::VALIDATION_FAILED) if verdict => Outcome::Rejected,
        ("False", condition::ROLLING_OUT) => Outcome::Waiting,
        ("False", _) => Outcome::Failed,
        _ => Outcome::Waiting,
    })
}
