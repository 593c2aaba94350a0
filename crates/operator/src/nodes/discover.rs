//! What the cluster has: the Machine Config Operator, and kinds whose status has room for conditions.

use std::collections::BTreeSet;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Resource as _;
use kube::{Api, Client};
use pullwright_api::openshift::MachineConfig;

use super::caches::DeliveryMode;
use super::observed::UserKind;
use crate::category::{Category, message};

/// Which way of delivery the cluster has.
///
/// # Errors
/// If the API server cannot be asked.
pub async fn delivery_mode(client: &Client) -> kube::Result<DeliveryMode> {
    let group = MachineConfig::group(&());
    let groups = client.list_api_groups().await?;
    let served = groups.groups.iter().any(|served| served.name == group);
    Ok(if served { DeliveryMode::MachineConfig } else { DeliveryMode::NodeAgent })
}

/// The kinds whose definition in this cluster has no conditions: OpenShift's own of the mirror sets, and `Image`. A definition that cannot
/// be read is taken to have them; if it has not, the API server drops them.
pub(crate) async fn without_conditions(client: &Client) -> BTreeSet<UserKind> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut kinds = BTreeSet::from([UserKind::Image]);
    for kind in UserKind::ALL {
        let resource = kind.resource();
        let name = format!("{}.{}", resource.plural, resource.group);
        match api.get_opt(&name).await {
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
