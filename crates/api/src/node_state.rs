//! `NodeState`: which configuration one node should have, and which it has.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{condition, null_is_default, patterns};

/// What a node should have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(
    group = "pullwright.dev",
    version = "v1alpha1",
    kind = "NodeState",
    plural = "nodestates",
    status = "NodeStateStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Desired", "type": "string", "jsonPath": ".spec.configuration"}"#,
    printcolumn = r#"{"name": "Actual", "type": "string", "jsonPath": ".status.configuration"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    doc = "Which NodeConfiguration a node should have, and which it has. The object has the name of the node."
)]
pub struct NodeStateSpec {
    /// The name of the `NodeConfiguration` that the node should have. Without it, the node should have what it had before
    /// Pullwright.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = patterns::NODE_CONFIGURATION))]
    pub configuration: Option<String>,
}

/// What a node has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStateStatus {
    /// The `metadata.generation` that the node took note of last. If the object's is higher, the rest says something about what the
    /// node was told before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// The name of the `NodeConfiguration` that the node has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = patterns::NODE_CONFIGURATION))]
    pub configuration: Option<String>,
    /// Whether the node has what it should have (`Ready`), and why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    #[schemars(schema_with = "condition::list")]
    pub conditions: Vec<Condition>,
}

/// How far a node is with what it was told last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NodeProgress<'a> {
    /// It has what it should have.
    Done,
    /// It has not taken note of it yet, or is being changed.
    InFlight,
    /// It could not take it. Its condition `Ready` says why.
    Failed(&'a Condition),
}

impl NodeState {
    /// The UID of the Node that it was made for; `None` if it was made by hand.
    #[must_use]
    pub fn node_uid(&self) -> Option<&str> {
        let mut owners = self.metadata.owner_references.iter().flatten();
        owners.find(|owner| owner.kind == "Node").map(|owner| owner.uid.as_str())
    }

    /// How far the node is, by its own report.
    #[must_use]
    pub fn progress(&self) -> NodeProgress<'_> {
        let Some(status) = &self.status else { return NodeProgress::InFlight };
        // Until the node has taken note, all that it says is about something earlier.
        if self.metadata.generation.is_none() || status.observed_generation != self.metadata.generation {
            return NodeProgress::InFlight;
        }
        let ready = status.conditions.iter().find(|found| found.type_ == condition::READY);
        match ready {
            Some(ready) if ready.status == "True" && status.configuration == self.spec.configuration => {
                NodeProgress::Done
            }
            Some(ready) if ready.status == "False" && ready.reason != condition::PROGRESSING => {
                NodeProgress::Failed(ready)
            }
            _ => NodeProgress::InFlight,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(observed: i64, actual: &str, ready: &str, reason: &str) -> NodeState {
        let object = json!({
            "apiVersion": "pullwright.dev/v1alpha1", "kind": "NodeState",
            "metadata": {"name": "a", "generation": 2}, "spec": {"configuration": "crio-new"},
            "status": {"observedGeneration": observed, "configuration": actual, "conditions": [{
                "type": "Ready", "status": ready, "reason": reason, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_node_is_done_when_it_says_so_about_what_it_was_told_last() {
        let done = state(2, "crio-new", "True", condition::APPLIED);
        assert_eq!(done.progress(), NodeProgress::Done);
        for (claim, state) in [
            ("about what it was told before", state(1, "crio-new", "True", condition::APPLIED)),
            ("it has something else", state(2, "crio-old", "True", condition::APPLIED)),
            ("being changed", state(2, "crio-old", "False", condition::PROGRESSING)),
            ("being changed again", state(2, "crio-new", "False", condition::PROGRESSING)),
            ("not known", state(2, "crio-new", "Unknown", condition::APPLIED)),
            ("a failure before", state(1, "crio-old", "False", condition::ROLLED_BACK)),
            ("no report", NodeState { status: None, ..done }),
        ] {
            assert_eq!(state.progress(), NodeProgress::InFlight, "{claim}");
        }
    }

    #[test]
    fn every_reason_but_one_is_a_failure() {
        for reason in [condition::ROLLED_BACK, condition::FAILED, condition::NOT_UNDONE, "Unheard"] {
            let state = state(2, "crio-old", "False", reason);
            assert!(matches!(state.progress(), NodeProgress::Failed(ready) if ready.reason == reason));
        }
    }
}
