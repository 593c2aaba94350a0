//! What a cluster holds, cut down to what the report needs: plain data, whether it was listed or watched.

use std::collections::BTreeMap;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use pullwright_api::openshift::MachineConfigPool;
use pullwright_api::{NodeConfiguration, NodeProgress, NodeRuntime, NodeState, condition};

/// All objects that the report is made of.
#[derive(Debug, Default)]
pub(crate) struct ClusterObjects {
    pub(crate) leases: Listed<OperatorLease>,
    pub(crate) digest_sets: Listed<JudgedObject>,
    pub(crate) tag_sets: Listed<JudgedObject>,
    pub(crate) policies: Listed<JudgedObject>,
    pub(crate) images: Listed<JudgedObject>,
    pub(crate) providers: Listed<JudgedObject>,
    pub(crate) configurations: Listed<Configuration>,
    pub(crate) states: Listed<State>,
    pub(crate) machine_configs: Listed<()>,
    pub(crate) pools: Listed<Pool>,
    pub(crate) nodes: Listed<NodeVersions>,
}

impl ClusterObjects {
    /// Each kind: its name, how far its objects are known, and those that cannot be read.
    pub(crate) fn kinds(&self) -> [Kind<'_>; 11] {
        [
            self.leases.of("Lease"),
            self.digest_sets.of("ImageDigestMirrorSet"),
            self.tag_sets.of("ImageTagMirrorSet"),
            self.policies.of("ImageContentSourcePolicy"),
            self.images.of("Image"),
            self.providers.of("CRIOCredentialProviderConfig"),
            self.configurations.of("NodeConfiguration"),
            self.states.of("NodeState"),
            self.machine_configs.of("MachineConfig"),
            self.pools.of("MachineConfigPool"),
            self.nodes.of("Node"),
        ]
    }

    /// Whether the API server has answered for every kind.
    pub(crate) fn is_complete(&self) -> bool {
        self.kinds().iter().all(|kind| *kind.access != Access::Pending)
    }

    /// Why the API server cannot be asked, if so.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.kinds().into_iter().find_map(|kind| match kind.access {
            Access::Failed(why) => Some(why.as_str()),
            _ => None,
        })
    }
}

/// One kind, whatever its objects are.
pub(crate) struct Kind<'a> {
    pub(crate) name: &'static str,
    pub(crate) access: &'a Access,
    pub(crate) unparsable: &'a BTreeMap<String, String>,
}

/// The objects of one kind by their names, and how far they are known.
#[derive(Debug)]
pub(crate) struct Listed<T> {
    pub(crate) access: Access,
    pub(crate) objects: BTreeMap<String, T>,
    /// Objects that do not fit their type, with the reason.
    pub(crate) unparsable: BTreeMap<String, String>,
}

/// How far the objects of a kind are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Access {
    /// The API server has not answered yet.
    #[default]
    Pending,
    /// They are known.
    Read,
    /// The cluster has no such kind.
    NotServed,
    /// You may not list them.
    Forbidden,
    /// The API server cannot be asked; what it said before is kept.
    Failed(String),
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { access: Access::Pending, objects: BTreeMap::new(), unparsable: BTreeMap::new() }
    }
}

impl<T> Listed<T> {
    fn of(&self, name: &'static str) -> Kind<'_> {
        Kind { name, access: &self.access, unparsable: &self.unparsable }
    }

    /// Whether the objects are known, so that a missing one does not exist.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.access, Access::Read | Access::NotServed)
    }

    /// Whether an object does not exist. It may where the kind is not known.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        self.is_known() && !self.objects.contains_key(name) && !self.unparsable.contains_key(name)
    }

    /// Adds or replaces an object, or notes why it cannot be read.
    pub(crate) fn put(&mut self, name: String, object: Result<T, String>) {
        match object {
            Ok(object) => {
                self.unparsable.remove(&name);
                self.objects.insert(name, object);
            }
            Err(why) => {
                self.objects.remove(&name);
                self.unparsable.insert(name, why);
            }
        }
    }

    /// Notes that the objects cannot be listed. What is known of them stays, unless they are gone with their kind.
    pub(crate) fn lose(&mut self, access: Access) {
        if !matches!(access, Access::Failed(_)) {
            *self = Self::default();
        }
        self.access = access;
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.objects.remove(name);
        self.unparsable.remove(name);
    }
}

/// An object with a verdict on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct JudgedObject {
    pub(crate) generation: i64,
    pub(crate) conditions: Vec<Condition>,
}

/// Who leads the operator's replicas.
#[derive(Debug, Clone, Default)]
pub(crate) struct OperatorLease {
    pub(crate) holder: Option<String>,
    pub(crate) renewed: Option<Timestamp>,
    pub(crate) seconds: i32,
}

impl From<Lease> for OperatorLease {
    fn from(lease: Lease) -> Self {
        let spec = lease.spec.unwrap_or_default();
        Self {
            holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
            renewed: spec.renew_time.map(|time| time.0),
            seconds: spec.lease_duration_seconds.unwrap_or_default(),
        }
    }
}

/// A `NodeConfiguration`.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    pub(crate) runtime: NodeRuntime,
    pub(crate) created: Option<Timestamp>,
    pub(crate) files: usize,
    pub(crate) bytes: usize,
}

impl From<NodeConfiguration> for Configuration {
    fn from(object: NodeConfiguration) -> Self {
        let files = object.spec.files.iter().map(|file| file.content.len());
        let provider = object.spec.credential_provider_config.iter().map(String::len);
        Self {
            runtime: object.spec.runtime,
            created: object.metadata.creation_timestamp.map(|time| time.0),
            files: files.len() + provider.len(),
            bytes: files.chain(provider).sum(),
        }
    }
}

/// A `NodeState`.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) wants: Option<String>,
    pub(crate) has: Option<String>,
    pub(crate) progress: Progress,
    /// Why the plugin fails on the node, if it does.
    pub(crate) plugin_fails: Option<String>,
}

/// How far a node is with what it should have, by its own report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    Done,
    /// It has not taken note yet, or says what it is doing.
    InFlight(Option<Why>),
    Failed(Why),
}

/// What a condition says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Why {
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl From<&Condition> for Why {
    fn from(condition: &Condition) -> Self {
        Self { reason: condition.reason.clone(), message: condition.message.clone() }
    }
}

impl From<NodeState> for State {
    fn from(object: NodeState) -> Self {
        let progress = match object.progress() {
            NodeProgress::Done => Progress::Done,
            NodeProgress::Failed(ready) => Progress::Failed(ready.into()),
            NodeProgress::InFlight => {
                let status = object.status.as_ref();
                let noted = status.filter(|status| status.observed_generation == object.metadata.generation);
                let mut conditions = noted.into_iter().flat_map(|status| &status.conditions);
                let ready = conditions.find(|found| found.type_ == condition::READY);
                Progress::InFlight(ready.map(Why::from))
            }
        };
        let status = object.status.unwrap_or_default();
        let mut conditions = status.conditions.into_iter();
        let plugin =
            conditions.find(|found| found.type_ == condition::PLUGIN_WORKS && found.status == "False");
        Self {
            wants: object.spec.configuration,
            has: status.configuration,
            progress,
            plugin_fails: plugin.map(|plugin| plugin.message),
        }
    }
}

/// A `MachineConfigPool`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool {
    pub(crate) built_in: bool,
    /// The `MachineConfig`s that its nodes should have.
    pub(crate) sources: Vec<String>,
    pub(crate) machines: usize,
    pub(crate) updated: usize,
    pub(crate) degraded: usize,
}

impl From<MachineConfigPool> for Pool {
    fn from(pool: MachineConfigPool) -> Self {
        let built_in = pool.is_built_in();
        let status = pool.status.unwrap_or_default();
        let count = |machines: i32| usize::try_from(machines).unwrap_or_default();
        Self {
            built_in,
            sources: pool.spec.configuration.source.into_iter().map(|source| source.name).collect(),
            machines: count(status.machine_count),
            updated: count(status.updated_machine_count),
            degraded: count(status.degraded_machine_count),
        }
    }
}

/// What tells a node's runtime, and whether the node is healthy.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeVersions {
    pub(crate) runtime: String,
    pub(crate) kubelet: String,
    pub(crate) ready: bool,
}

impl From<Node> for NodeVersions {
    fn from(node: Node) -> Self {
        let status = node.status.unwrap_or_default();
        let info = status.node_info.unwrap_or_default();
        let mut conditions = status.conditions.unwrap_or_default().into_iter();
        Self {
            runtime: info.container_runtime_version,
            kubelet: info.kubelet_version,
            ready: conditions.any(|found| found.type_ == "Ready" && found.status == "True"),
        }
    }
}
