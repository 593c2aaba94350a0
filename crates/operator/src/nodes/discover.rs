//! What the cluster has: the Machine Config Operator, and kinds whose status has room for conditions.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Resource as _;
use kube::{Api, Client};
use pullwright_api::openshift::MachineConfig;
use pullwright_daemon::message;
use tokio::time::timeout;

use super::observed::{ProviderVersion, UserKind};
use crate::category::Category;

/// How long a read within a pass may take: a connection that has died must not hold up all that follows.
pub(crate) const READS_WITHIN: Duration = Duration::from_secs(15);

/// How files get to the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryMode {
    /// By the node agent.
    NodeAgent,
    /// By OpenShift's Machine Config Operator.
    MachineConfig,
}

/// What the API server of a cluster serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterKinds {
    /// The way of delivery that it has.
    pub delivery: DeliveryMode,
    /// The version of `CRIOCredentialProviderConfig`: the newest that it has.
    pub provider: ProviderVersion,
}

/// Asks the API server what it serves.
///
/// # Errors
/// If it cannot be asked.
pub async fn cluster_kinds(client: &Client) -> kube::Result<ClusterKinds> {
    let groups = client.list_api_groups().await?;
    let served = |group: &str| groups.groups.iter().any(|served| served.name == group);
    let delivery = if served(&MachineConfig::group(&())) {
        DeliveryMode::MachineConfig
    } else {
        DeliveryMode::NodeAgent
    };
    let newest = UserKind::ProviderConfig(ProviderVersion::V1);
    let older = UserKind::ProviderConfig(ProviderVersion::V1alpha1);
    let provider = if !serves(client, newest).await? && serves(client, older).await? {
        ProviderVersion::V1alpha1
    } else {
        ProviderVersion::V1
    };
    Ok(ClusterKinds { delivery, provider })
}

/// Whether the API server serves a kind.
async fn serves(client: &Client, kind: UserKind) -> kube::Result<bool> {
    let resource = kind.resource();
    match client.list_api_group_resources(&resource.api_version).await {
        Ok(list) => Ok(list.resources.iter().any(|served| served.name == resource.plural)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

/// The kinds whose definition in this cluster has no conditions: OpenShift's own of the mirror sets, and `Image`. A definition that cannot
/// be read is taken to have them; if it has not, the API server drops them.
pub(crate) async fn without_conditions(client: &Client) -> BTreeSet<UserKind> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut kinds = BTreeSet::from([UserKind::Image]);
    for kind in UserKind::ALL {
        let resource = kind.resource();
        let name = format!("{}.{}", resource.plural, resource.group);
        let Ok(answer) = timeout(READS_WITHIN, api.get_opt(&name)).await else {
            tracing::warn!(reason = %Category::ApiUnavailable, name, "cannot read the definition in time");
            continue;
        };
        match answer {
            Ok(Some(definition)) if !has_conditions(&definition, &resource.version) => {
                kinds.insert(kind);
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(reason = %Category::of(&error), name, "cannot read the definition: {}", message(&error));
            }
        }
    }
    kinds
}

fn has_conditions(definition: &CustomResourceDefinition, version: &str) -> bool {
    let version = definition.spec.versions.iter().find(|found| found.name == version);
    let schema = version.and_then(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
    let status = schema.and_then(|schema| schema.properties.as_ref()?.get("status"));
    status.is_some_and(|status| {
        status.x_kubernetes_preserve_unknown_fields == Some(true)
            || status.properties.as_ref().is_some_and(|properties| properties.contains_key("conditions"))
    })
}
