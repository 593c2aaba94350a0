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
