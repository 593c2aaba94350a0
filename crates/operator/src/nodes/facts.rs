//! What the operator needs to know of a Node and of its `NodeState`.

use k8s_openapi::api::core::v1::Node;
use pullwright_api::{NodeRuntime, NodeState};

use crate::provider_config::Platform;
use crate::rollout::Progress;

/// The label with the zone of a Node.
const ZONE: &str = "topology.kubernetes.io/zone";

/// A Node, as far as its configuration depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Which Node of that name it is.
    pub uid: String,
    /// Its runtime; `None` if it cannot be configured, or is not known yet.
    pub runtime: Option<NodeRuntime>,
    /// Which cloud it runs in.
    pub platform: Platform,
    /// Where in the cloud it runs.
    pub zone: String,
    /// Whether the control plane takes it for healthy.
    pub ready: bool,
    /// Whether no new Pods come to it.
    pub cordoned: bool,
}

impl From<Node> for NodeFacts {
    fn from(node: Node) -> Self {
        let status = node.status.unwrap_or_default();
        let spec = node.spec.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        Self {
            name: node.metadata.name.unwrap_or_default(),
            uid: node.metadata.uid.unwrap_or_default(),
            runtime: status.node_info.and_then(|info| {
                NodeRuntime::reported(&info.container_runtime_version, &info.kubelet_version)
            }),
            platform: Platform::from_provider_id(spec.provider_id.as_deref().unwrap_or_default()),
            zone: node.metadata.labels.and_then(|mut labels| labels.remove(ZONE)).unwrap_or_default(),
            ready: conditions
                .iter()
                .any(|condition| condition.type_ == "Ready" && condition.status == "True"),
            cordoned: spec.unschedulable.unwrap_or_default(),
        }
    }
}

/// What a node should have and has, by its own report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeStateFacts {
    /// The node's name.
    pub name: String,
    /// The uid of the Node that it belongs to.
    pub node: String,
    /// Which object of that name it is.
    pub uid: String,
    /// Which version of it.
    pub resource_version: String,
    /// Which version of its spec.
    pub generation: i64,
    /// The configuration that it should have.
    pub desired: Option<String>,
    /// The configuration that it has.
    pub actual: Option<String>,
    /// How far it is with that.
    pub progress: Progress,
}

impl NodeStateFacts {
    /// Whether it is about this Node, and not about an earlier one of the same name. One without an owner was made by hand, for the Node
    /// that has the name now.
    #[must_use]
    pub fn is_of(&self, node: &NodeFacts) -> bool {
        self.node.is_empty() || self.node == node.uid
    }
}

impl From<NodeState> for NodeStateFacts {
    fn from(state: NodeState) -> Self {
        let progress = state.progress().into();
        let node = state.node_uid().unwrap_or_default().to_owned();
        let metadata = state.metadata;
        Self {
            name: metadata.name.unwrap_or_default(),
            node,
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            generation: metadata.generation.unwrap_or_default(),
            desired: state.spec.configuration,
            actual: state.status.unwrap_or_default().configuration,
            progress,
        }
    }
}
