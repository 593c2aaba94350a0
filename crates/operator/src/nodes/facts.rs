//! What the operator needs to know of a Node and of its `NodeState`.

use k8s_openapi::api::core::v1::Node;
use pullwright_api::{NodeRuntime, NodeState, condition};

use crate::provider_config::Platform;

/// A Node, as far as its configuration depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Its runtime.
    pub runtime: FoundRuntime,
    /// Where it runs.
    pub platform: Platform,
}

/// The runtime that a Node reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundRuntime {
    /// One that can be configured.
    Known(NodeRuntime),
    /// Another one, in the Node's own words.
    Other(String),
    /// The kubelet has not said yet.
    NotReported,
}

impl FoundRuntime {
    /// Reads what the kubelet reports: `cri-o://1.36.3`, and its own version, which tells K3s from a containerd of its own.
    fn new(runtime_version: &str, kubelet_version: &str) -> Self {
        let distribution = kubelet_version.split_once('+').map_or("", |(_, distribution)| distribution);
        match runtime_version.split_once("://").map(|(runtime, _)| runtime) {
            None => Self::NotReported,
            // RKE2 keeps its file elsewhere and restarts another service, so it is not taken for K3s.
            Some("containerd") if distribution.starts_with("rke2") => {
                Self::Other(format!("RKE2 {kubelet_version}"))
            }
            Some("containerd") if distribution.starts_with("k3s") => Self::Known(NodeRuntime::K3s),
            Some("containerd") => Self::Known(NodeRuntime::Containerd),
            Some("cri-o") => Self::Known(NodeRuntime::Crio),
            Some(_) => Self::Other(runtime_version.to_owned()),
        }
    }
}

impl From<Node> for NodeFacts {
    fn from(node: Node) -> Self {
        let info = node.status.and_then(|status| status.node_info);
        let provider_id = node.spec.and_then(|spec| spec.provider_id).unwrap_or_default();
        Self {
            name: node.metadata.name.unwrap_or_default(),
            runtime: info.map_or(FoundRuntime::NotReported, |info| {
                FoundRuntime::new(&info.container_runtime_version, &info.kubelet_version)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubelet_names_its_runtime() {
        let found = |runtime: &str, kubelet: &str| FoundRuntime::new(runtime, kubelet);
        assert_eq!(found("cri-o://1.36.3", "v1.36.3"), FoundRuntime::Known(NodeRuntime::Crio));
        assert_eq!(found("containerd://2.4.2", "v1.36.3"), FoundRuntime::Known(NodeRuntime::Containerd));
        assert_eq!(found("containerd://2.1.4-k3s1", "v1.34.1+k3s1"), FoundRuntime::Known(NodeRuntime::K3s));
        assert_eq!(
            found("containerd://2.1.4-k3s1", "v1.34.1+rke2r1"),
            FoundRuntime::Other("RKE2 v1.34.1+rke2r1".to_owned())
        );
        assert_eq!(found("docker://28.0", "v1.36.3"), FoundRuntime::Other("docker://28.0".to_owned()));
        assert_eq!(found("", ""), FoundRuntime::NotReported);
    }
}
