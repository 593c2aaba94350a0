//! The cluster as one agent sees it: what its node should have, and where it says what became of that.

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use pullwright_api::{NodeConfiguration, NodeConfigurationSpec, NodeState, NodeStateStatus};
use pullwright_daemon::message;
use thiserror::Error;
use tokio::time::timeout;

use crate::report::{AGENT, body};

/// How long the API server may take for one answer: a connection that has died must not hold up a node.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// Why the cluster did not help.
#[derive(Debug, Error)]
pub(crate) enum ClusterError {
    #[error("{what}: {why}")]
    Api { what: String, why: String },
    #[error("{what}: the API server has not answered for {} s", ANSWERS_WITHIN.as_secs())]
    Late { what: String },
    #[error("the NodeConfiguration {0} does not exist")]
    NoConfiguration(String),
    #[error(
        "the content of NodeConfiguration {0} is not the one that its name promises: delete it, and the operator makes it again"
    )]
    NotIntact(String),
}

/// The way to the cluster.
pub(crate) struct Cluster {
    client: Client,
    node: String,
}

impl Cluster {
    pub(crate) fn new(client: Client, node: &str) -> Self {
        Self { client, node: node.to_owned() }
    }

    /// What is in a configuration.
    pub(crate) async fn configuration(&self, name: &str) -> Result<NodeConfigurationSpec, ClusterError> {
        let configurations: Api<NodeConfiguration> = Api::all(self.client.clone());
        let found =
            answered(format!("reading NodeConfiguration {name}"), configurations.get_opt(name)).await?;
        let configuration = found.ok_or_else(|| ClusterError::NoConfiguration(name.to_owned()))?;
        // Whoever can write NodeConfigurations can do a lot, but not under the name of one that was looked at.
        if configuration.is_intact() {
            Ok(configuration.spec)
        } else {
            Err(ClusterError::NotIntact(name.to_owned()))
        }
    }

    /// The Node.
    pub(crate) async fn node(&self) -> Result<Node, ClusterError> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        answered(format!("reading Node {}", self.node), nodes.get(&self.node)).await
    }

    /// Says how it stands with the node, on its object.
    pub(crate) async fn say(&self, state: &NodeState, status: &NodeStateStatus) -> Result<(), ClusterError> {
        let objects: Api<NodeState> = Api::all(self.client.clone());
        let body = body(&self.node, state.metadata.uid.as_deref(), status);
        let (parameters, patch) = (PatchParams::apply(AGENT).force(), Patch::Apply(&body));
        let request = objects.patch_status(&self.node, &parameters, &patch);
        answered("reporting what the node has".to_owned(), request).await.map(drop)
    }
}

async fn answered<T>(
    what: String,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, ClusterError> {
    match timeout(ANSWERS_WITHIN, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(ClusterError::Api { what, why: message(&error) }),
        Err(_) => Err(ClusterError::Late { what }),
    }
}
