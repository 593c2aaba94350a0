//! The slice of OpenShift's kinds that the operator reads and writes. OpenShift defines these kinds; there are no CRDs for them
//! here. What an object does not have is read as empty, so that objects of every release can be read.

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::names;
use crate::{ignition, null_is_default};

/// The label of a `MachineConfig` that says which pool it is for.
pub const ROLE: &str = "machineconfiguration.openshift.io/role";

/// The label of the pools that every cluster has: `master`, `worker`, and sometimes `arbiter`. All other pools inherit what
/// `worker` has.
pub const BUILT_IN_POOL: &str = "machineconfiguration.openshift.io/mco-built-in";

/// The names of the one [`Infrastructure`] and of the one [`ClusterVersion`].
pub mod singleton {
    /// The one `Infrastructure`.
    pub const INFRASTRUCTURE: &str = "cluster";
    /// The one `ClusterVersion`.
    pub const CLUSTER_VERSION: &str = "version";
}

/// What a `MachineConfig` brings to the nodes of a pool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, CustomResource)]
#[kube(
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "MachineConfig",
    plural = "machineconfigs",
    schema = "disabled",
    derive = "PartialEq",
    doc = "Files and units for the nodes of a pool."
)]
pub struct MachineConfigSpec {
    /// An Ignition configuration: see [`ignition`].
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub config: Value,
}

/// The `MachineConfig` that brings files to the nodes of a pool.
///
/// It has no owner and none of the annotations of OpenShift's Machine Config Operator: with another version in its annotation,
/// that operator would render no pool at all.
#[must_use]
pub fn machine_config<'f>(
    pool: &str,
    files: impl IntoIterator<Item = (&'f str, i32, &'f str)>,
) -> MachineConfig {
    let spec = MachineConfigSpec { config: ignition::ignition_config(files) };
    let mut object = MachineConfig::new(&machine_config_name(pool), spec);
    object.metadata.labels = Some(
        [(ROLE, pool), (names::MANAGED_BY, names::OPERATOR)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
    );
    object
}

/// The name of that `MachineConfig`. It sorts behind those of OpenShift's own operator, so its files win.
#[must_use]
pub fn machine_config_name(pool: &str) -> String {
    format!("99-{pool}-pullwright")
}

/// Which `MachineConfig`s a pool should have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, CustomResource)]
#[kube(
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "MachineConfigPool",
    plural = "machineconfigpools",
    schema = "disabled",
    status = "MachineConfigPoolStatus",
    derive = "PartialEq",
    doc = "A group of nodes that get the same files."
)]
pub struct MachineConfigPoolSpec {
    /// The rendered configuration that the nodes should have, and what it was rendered from.
    #[serde(default, deserialize_with = "null_is_default")]
    pub configuration: PoolConfiguration,
}

/// A rendered configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolConfiguration {
    /// The name of the rendered `MachineConfig`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// The `MachineConfig`s that it was rendered from.
    #[serde(default, deserialize_with = "null_is_default")]
    pub source: Vec<ConfigurationSource>,
}

/// A reference to a `MachineConfig`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigurationSource {
    /// Its name.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
}

/// How far the nodes of a pool are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigPoolStatus {
    /// How many nodes the pool has.
    pub machine_count: i32,
    /// How many of them have what the spec says ([`MachineConfigPoolSpec::configuration`]).
    pub updated_machine_count: i32,
    /// How many of them failed to take it.
    pub degraded_machine_count: i32,
    /// The rendered configuration that all nodes of the pool last had.
    #[serde(deserialize_with = "null_is_default")]
    pub configuration: PoolConfiguration,
    /// Whether the pool is `Updated`, `Updating` or `Degraded`.
    #[serde(deserialize_with = "null_is_default")]
    pub conditions: Vec<PoolCondition>,
}

/// A condition of a pool, which is not the usual type: everything in it may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolCondition {
    /// Which aspect it is about.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, for people.
    pub message: String,
}

impl MachineConfigPool {
    /// Whether every cluster has this pool ([`BUILT_IN_POOL`]).
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(BUILT_IN_POOL))
    }

    /// Whether the configuration that the nodes should have was rendered from this `MachineConfig`.
    #[must_use]
    pub fn is_rendered_from(&self, machine_config: &str) -> bool {
        self.spec.configuration.source.iter().any(|source| source.name == machine_config)
    }
}

/// Nothing that is read.
// `no_spec`, because the spec of these kinds does not matter and may then be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, CustomResource)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "Infrastructure",
    plural = "infrastructures",
    schema = "disabled",
    no_spec,
    status = "InfrastructureStatus",
    derive = "PartialEq",
    doc = "What the cluster runs on. The one object is named \"cluster\"."
)]
pub struct InfrastructureFields {}

/// What the cluster runs on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InfrastructureStatus {
    /// The platform.
    #[serde(default, deserialize_with = "null_is_default")]
    pub platform_status: PlatformStatus,
}

/// The platform of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformStatus {
    /// `AWS`, `Azure`, `GCP`, `None`, …
    #[serde(default, rename = "type", deserialize_with = "null_is_default")]
    pub type_: String,
}

/// Nothing that is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, CustomResource)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "ClusterVersion",
    plural = "clusterversions",
    schema = "disabled",
    no_spec,
    status = "ClusterVersionStatus",
    derive = "PartialEq",
    doc = "The release of the cluster. The one object is named \"version\"."
)]
pub struct ClusterVersionFields {}

/// Which release the cluster is to have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterVersionStatus {
    /// The release.
    #[serde(default, deserialize_with = "null_is_default")]
    pub desired: Release,
}

/// A release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// Its image, by digest.
    #[serde(default, deserialize_with = "null_is_default")]
    pub image: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_machine_config_is_for_one_pool_and_says_who_wrote_it() {
        let object = machine_config("worker", [("/etc/a", 0o644, "a\n")]);
        assert_eq!(
            serde_json::to_value(&object).unwrap(),
            json!({
                "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
                "metadata": {
                    "name": "99-worker-pullwright",
                    "labels": {
                        "machineconfiguration.openshift.io/role": "worker",
                        "app.kubernetes.io/managed-by": "pullwright-operator",
                    },
                },
                "spec": {"config": ignition::ignition_config([("/etc/a", 0o644, "a\n")])},
            })
        );
    }

    #[test]
    fn a_pool_is_read_with_what_it_has() {
        let pool: MachineConfigPool = serde_json::from_value(json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": "worker", "labels": {"machineconfiguration.openshift.io/mco-built-in": ""}},
            "spec": {
                "paused": false,
                "configuration": {
                    "name": "rendered-worker-2",
                    "source": [{"kind": "MachineConfig", "name": "00-worker"}, {"name": "99-worker-pullwright"}],
                },
            },
            "status": {
                "machineCount": 3, "updatedMachineCount": 1, "degradedMachineCount": 1, "readyMachineCount": 1,
                "configuration": {"name": "rendered-worker-1"},
                "conditions": [{"type": "Degraded", "status": "True", "lastTransitionTime": null}],
            },
        }))
        .unwrap();
        assert!(pool.is_built_in());
        assert!(pool.is_rendered_from("99-worker-pullwright"));
        assert!(!pool.is_rendered_from("99-worker"));
        assert_eq!(pool.spec.configuration.name, "rendered-worker-2");
        let status = pool.status.unwrap();
        assert_eq!(
            (status.machine_count, status.updated_machine_count, status.degraded_machine_count),
            (3, 1, 1)
        );
        assert_eq!(status.configuration.name, "rendered-worker-1");
        assert_eq!((&*status.conditions[0].type_, &*status.conditions[0].status), ("Degraded", "True"));
    }

    #[test]
    fn what_an_object_does_not_have_is_empty() {
        let pool = json!({"metadata": {"name": "new"}, "spec": {"configuration": null}, "status": {"conditions": null}});
        let pool: MachineConfigPool = serde_json::from_value(pool).unwrap();
        assert!(!pool.is_built_in());
        assert_eq!(pool.status, Some(MachineConfigPoolStatus::default()));

        let infrastructure: Infrastructure =
            serde_json::from_value(json!({"metadata": {}, "status": {"platformStatus": {"type": "None"}}}))
                .unwrap();
        assert_eq!(infrastructure.status.unwrap().platform_status.type_, "None");
        let with_spec = json!({"metadata": {}, "spec": {"cloudConfig": {"name": ""}}, "status": {"platformStatus": null}});
        let infrastructure: Infrastructure = serde_json::from_value(with_spec).unwrap();
        assert_eq!(infrastructure.status, Some(InfrastructureStatus::default()));

        let version: ClusterVersion = serde_json::from_value(
            json!({"metadata": {}, "spec": {"clusterID": "x"}, "status": {"desired": {"image": "quay.io/r@sha256:0"}}}),
        )
        .unwrap();
        assert_eq!(version.status.unwrap().desired.image, "quay.io/r@sha256:0");

        let config: MachineConfig =
            serde_json::from_value(json!({"metadata": {}, "spec": {"osImageURL": ""}})).unwrap();
        assert_eq!(config.spec.config, Value::Null);
    }
}
