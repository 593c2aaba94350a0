//! What the operator needs to know of a Node and of its `NodeState`.

use k8s_openapi::api::core::v1::Node;
use pullwright_api::{NodeRuntime, NodeState, condition};

use crate::provider_config::Platform;

/// A Node, as far as its configuration depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Its runtime; `None` if it cannot be configured, or is not known yet.
    pub runtime: Option<NodeRuntime>,
    /// Where it runs.
    pub platform: Platform,
}

impl From<Node> for NodeFacts {
    fn from(node: Node) -> Self {
        let info = node.status.and_then(|status| status.node_info);
        let provider_id = node.spec.and_then(|spec| spec.provider_id).unwrap_or_default();
        Self {
            name: node.metadata.name.unwrap_or_default(),
            runtime: info.and_then(|info| {
                NodeRuntime::reported(&info.container_runtime_version, &info.kubelet_version)
            }),
            platform: Platform::from_provider_id(&provider_id),
        }
    }
}

/// What a node should have and has, by its own report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeStateFacts {
    /// The node's name.
    pub name: String,
    /// The configuration that it should have.
    pub desired: Option<String>,
    /// The configuration that it has.
    pub actual: Option<String>,
    /// Why it could not take the one that it should have.
    pub failure: Option<String>,
}

impl From<NodeState> for NodeStateFacts {
    fn from(state: NodeState) -> Self {
        let status = state.status.unwrap_or_default();
        let failed = |found: &&k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition| {
            found.type_ == condition::READY && found.status == "False"
        };
        Self {
            name: state.metadata.name.unwrap_or_default(),
            desired: state.spec.configuration,
            actual: status.configuration,
            failure: status.conditions.iter().find(failed).map(|found| found.reason.clone()),
        }
    }
}
