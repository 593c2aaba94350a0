//! The report on a whole cluster, made from plain data: what should be where, what is waiting, what failed and why.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use pullwright_api::names::OPERATOR;
use pullwright_api::{SINGLETON, condition};
use serde::Serialize;

use super::nodes::{Delivery, NodesReport, delivery, nodes};
use super::objects::{Access, ClusterObjects, JudgedObject, Listed};
use super::verdict::{ConditionReport, Outcome, Verdict, outcome};

/// What there is to say about a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct StatusReport {
    pub(crate) operator: OperatorReport,
    pub(crate) objects: Vec<ObjectReport>,
    pub(crate) delivery: Delivery,
    pub(crate) nodes: NodesReport,
    /// Kinds that are missing from this report, or out of date in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_readable: Vec<UnreadableKind>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unparsable: Vec<UnparsableObject>,
    pub(crate) summary: Summary,
}

/// Which replica of the operator writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub(crate) enum OperatorReport {
    /// It renewed its lease in time.
    Running { holder: String, renewed_seconds_ago: i64 },
    /// It did not: it is gone, or cannot reach the API server, or the clocks differ.
    Lapsed { holder: String, renewed_seconds_ago: i64 },
    /// The last one gave the lease back.
    Released,
    /// There is no lease.
    NotInstalled,
    /// The lease cannot be read.
    Unknown,
}

/// An object and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ObjectReport {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<ConditionReport>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UnreadableKind {
    pub(crate) kind: &'static str,
    pub(crate) reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UnparsableObject {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) message: String,
}

/// How many are not where they should be. Machines of pools count as nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    pub(crate) waiting_objects: usize,
    pub(crate) waiting_nodes: usize,
    pub(crate) nodes_in_flight: usize,
    pub(crate) rejected_objects: usize,
    pub(crate) partly_applied_objects: usize,
    pub(crate) failed_objects: usize,
    pub(crate) failed_nodes: usize,
    pub(crate) failing_plugins: usize,
    pub(crate) unparsable_objects: usize,
}

impl Summary {
    /// Whether something needs a person.
    pub(crate) fn has_problems(&self) -> bool {
        self.rejected_objects
            + self.partly_applied_objects
            + self.failed_objects
            + self.failed_nodes
            + self.failing_plugins
            + self.unparsable_objects
            > 0
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting_objects + self.waiting_nodes + self.nodes_in_flight > 0
    }
}

impl StatusReport {
    /// Whether a reader would learn anything new. The operator renews its lease every few seconds, which is no news.
    pub(crate) fn is_news_after(&self, before: &Self) -> bool {
        fn ageless(report: &OperatorReport) -> OperatorReport {
            let mut report = report.clone();
            if let OperatorReport::Running { renewed_seconds_ago: age, .. }
            | OperatorReport::Lapsed { renewed_seconds_ago: age, .. } = &mut report
            {
                *age = 0;
            }
            report
        }
        let rest = |report: &Self| Self { operator: ageless(&report.operator), ..report.clone() };
        rest(self) != rest(before)
    }
}

/// Reports on a cluster at a time.
pub(crate) fn report(objects: &ClusterObjects, now: Timestamp) -> StatusReport {
    let judged = judged(objects);
    let delivery = delivery(objects);
    let nodes = nodes(objects);
    let (not_readable, unparsable) = troubles(objects);
    let mut summary = Summary {
        waiting_nodes: nodes.waiting.len(),
        nodes_in_flight: nodes.in_flight.len(),
        failed_nodes: nodes.failed.len(),
        failing_plugins: nodes.failing_plugins.len(),
        unparsable_objects: unparsable.len(),
        ..Summary::default()
    };
    for object in &judged {
        match object.outcome {
            Outcome::Applied | Outcome::NoConditions => {}
            Outcome::Waiting => summary.waiting_objects += 1,
            Outcome::Partly => summary.partly_applied_objects += 1,
            Outcome::Rejected => summary.rejected_objects += 1,
            Outcome::Failed => summary.failed_objects += 1,
        }
    }
    if let Delivery::MachineConfigs { pools } = &delivery {
        for (waiting, failed) in pools.iter().map(super::nodes::PoolReport::waiting_and_failed) {
            summary.waiting_nodes += waiting;
            summary.failed_nodes += failed;
        }
    }
    StatusReport {
        operator: operator(objects, now),
        objects: judged,
        delivery,
        nodes,
        not_readable,
        unparsable,
        summary,
    }
}

fn operator(objects: &ClusterObjects, now: Timestamp) -> OperatorReport {
    let Some(lease) = objects.leases.objects.get(OPERATOR) else {
        let known = objects.leases.is_known() && objects.leases.unparsable.is_empty();
        return if known { OperatorReport::NotInstalled } else { OperatorReport::Unknown };
    };
    let (Some(holder), Some(renewed)) = (lease.holder.clone(), lease.renewed) else {
        return OperatorReport::Released;
    };
    // Clocks differ, so it may have been renewed in the future.
    let renewed_seconds_ago = now.duration_since(renewed).as_secs().max(0);
    if renewed_seconds_ago <= i64::from(lease.seconds) {
        OperatorReport::Running { holder, renewed_seconds_ago }
    } else {
        OperatorReport::Lapsed { holder, renewed_seconds_ago }
    }
}

/// The verdict on each object, the worst first.
fn judged(objects: &ClusterObjects) -> Vec<ObjectReport> {
    // The Machine Config Operator's cluster has definitions of its own for mirror sets, whose status has no fields.
    let openshift = objects.pools.access != Access::NotServed;
    let mirror_sets = if openshift { Verdict::Perhaps } else { Verdict::In(condition::APPLIED) };
    let all = |kind, listed: &Listed<JudgedObject>, verdict| -> Vec<_> {
        listed.objects.iter().map(|(name, object)| object_report(kind, name, object, verdict)).collect()
    };
    let image = objects.images.objects.get(SINGLETON);
    let mut reports = [
        all("ImageDigestMirrorSet", &objects.digest_sets, mirror_sets),
        all("ImageTagMirrorSet", &objects.tag_sets, mirror_sets),
        all("ImageContentSourcePolicy", &objects.policies, mirror_sets),
        image.map(|image| object_report("Image", SINGLETON, image, Verdict::Perhaps)).into_iter().collect(),
        all("CRIOCredentialProviderConfig", &objects.providers, Verdict::In(condition::VALIDATED)),
    ]
    .concat();
    reports.sort_by_key(|report| Reverse(report.outcome));
    reports
}

fn object_report(kind: &'static str, name: &str, object: &JudgedObject, verdict: Verdict) -> ObjectReport {
    let (outcome, conditions) = outcome(object, verdict);
    ObjectReport { kind, name: name.to_owned(), outcome, conditions }
}

/// What is missing from the report.
fn troubles(objects: &ClusterObjects) -> (Vec<UnreadableKind>, Vec<UnparsableObject>) {
    let kinds = objects.kinds();
    let not_readable = kinds.iter().filter_map(|kind| {
        let reason = match kind.access {
            Access::Read | Access::NotServed => return None,
            Access::Pending => "no answer yet".to_owned(),
            Access::Forbidden => "Forbidden".to_owned(),
            Access::Failed(why) => why.clone(),
        };
        Some(UnreadableKind { kind: kind.name, reason })
    });
    let unparsable = |kind: &'static str, objects: &BTreeMap<String, String>| -> Vec<_> {
        objects
            .iter()
            .map(|(name, message)| UnparsableObject { kind, name: name.clone(), message: message.clone() })
            .collect()
    };
    let unparsable = kinds.iter().flat_map(|kind| unparsable(kind.name, kind.unparsable)).collect();
    (not_readable.collect(), unparsable)
}
