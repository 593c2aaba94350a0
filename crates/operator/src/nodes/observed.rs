//! Everything that the decision about the nodes depends on, as values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::api::ApiResource;
use pullwright_api::openshift::{MachineConfig, MachineConfigPool};
use pullwright_api::{
    Image, ImageContentSourcePolicy, ImageDigestMirrorSet, ImageTagMirrorSet, NodeRuntime, ignition, v1,
    v1alpha1,
};
use pullwright_engine::mirrors::{MirrorSet, RegistrySources};
use sha2::{Digest as _, Sha256};

use super::facts::{NodeFacts, NodeStateFacts};
use crate::provider_config::Platform;
use crate::write::OwnObject;

/// The kinds of objects that users write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UserKind {
    /// `ImageDigestMirrorSet`
    ImageDigestMirrorSet,
    /// `ImageTagMirrorSet`
    ImageTagMirrorSet,
    /// `ImageContentSourcePolicy`
    ImageContentSourcePolicy,
    /// `Image`
    Image,
    /// `CRIOCredentialProviderConfig`, in the version that the cluster has.
    ProviderConfig(ProviderVersion),
}

/// The versions of `CRIOCredentialProviderConfig`, whose schemas are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProviderVersion {
    /// `config.openshift.io/v1`
    V1,
    /// `config.openshift.io/v1alpha1`, the only one that OpenShift 4.22 has.
    V1alpha1,
}

impl UserKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::ImageDigestMirrorSet,
        Self::ImageTagMirrorSet,
        Self::ImageContentSourcePolicy,
        Self::Image,
        Self::ProviderConfig(ProviderVersion::V1),
    ];

    /// How the API names the kind.
    #[must_use]
    pub fn resource(self) -> ApiResource {
        match self {
            Self::ImageDigestMirrorSet => ApiResource::erase::<ImageDigestMirrorSet>(&()),
            Self::ImageTagMirrorSet => ApiResource::erase::<ImageTagMirrorSet>(&()),
            Self::ImageContentSourcePolicy => ApiResource::erase::<ImageContentSourcePolicy>(&()),
            Self::Image => ApiResource::erase::<Image>(&()),
            Self::ProviderConfig(ProviderVersion::V1) => {
                ApiResource::erase::<v1::CRIOCredentialProviderConfig>(&())
            }
            Self::ProviderConfig(ProviderVersion::V1alpha1) => {
                ApiResource::erase::<v1alpha1::CRIOCredentialProviderConfig>(&())
            }
        }
    }
}

/// An object that a user wrote: what it says, and what its status says by now.
#[derive(Debug, Clone, PartialEq)]
pub struct UserObject<T> {
    /// Its kind.
    pub kind: UserKind,
    /// Its name.
    pub name: String,
    /// Which object of that name it is.
    pub uid: String,
    /// Which version of it.
    pub resource_version: String,
    /// Which version of its spec.
    pub generation: i64,
    /// The conditions in its status.
    pub conditions: Vec<Condition>,
    /// What it says.
    pub value: T,
}

impl<T> UserObject<T> {
    /// An object as a cache keeps it.
    pub(crate) fn new(kind: UserKind, metadata: ObjectMeta, conditions: Vec<Condition>, value: T) -> Self {
        Self {
            kind,
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            generation: metadata.generation.unwrap_or_default(),
            conditions,
            value,
        }
    }
}

/// What is known of the cluster.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The mirror sets of all three kinds.
    pub mirror_sets: Vec<Arc<UserObject<MirrorSet>>>,
    /// `Image/cluster`.
    pub image: Option<Arc<UserObject<RegistrySources>>>,
    /// `CRIOCredentialProviderConfig/cluster`, with its images.
    pub provider: Option<Arc<UserObject<Vec<String>>>>,
    /// The objects that cannot be read: kind, name and why.
    pub unparsable: Vec<(UserKind, String, String)>,
    /// The kinds whose status has no conditions in this cluster.
    pub without_conditions: BTreeSet<UserKind>,
    /// The Nodes.
    pub nodes: Vec<Arc<NodeFacts>>,
    /// The way to the nodes, and what is on it already.
    pub delivery: ObservedDelivery,
}

/// How files get to the nodes, and what is there now.
#[derive(Debug, Clone)]
pub enum ObservedDelivery {
    /// `NodeConfiguration`s, for the node agent.
    NodeAgent {
        /// The operator's `NodeConfiguration`s.
        own: Vec<Arc<OwnConfiguration>>,
        /// What the nodes should have and have.
        states: Vec<Arc<NodeStateFacts>>,
    },
    /// `MachineConfig`s, for OpenShift's Machine Config Operator.
    MachineConfig {
        /// The operator's `MachineConfig`s.
        own: Vec<OwnObject>,
        /// The pools that every cluster has.
        pools: Vec<Arc<PoolFacts>>,
        /// Rendered configurations by name, as far as they were read.
        rendered: BTreeMap<String, Arc<RenderedConfig>>,
        /// Where the cluster runs.
        platform: Platform,
        /// The cluster's release image.
        release_image: Option<String>,
    },
}

/// One of the operator's `NodeConfiguration`s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnConfiguration {
    /// The object.
    pub object: OwnObject,
    /// Its number among those that all nodes of their runtime had, if they ever had it. The higher, the later.
    pub rolled_out: Option<u64>,
}

/// The configuration of a runtime that all nodes had last.
pub(crate) fn last_rolled_out(own: &[Arc<OwnConfiguration>], runtime: NodeRuntime) -> Option<&str> {
    let of_runtime = own.iter().filter(|own| runtime.has_configuration(&own.object.key.name));
    let rolled_out = of_runtime.filter_map(|own| Some((own.rolled_out?, own)));
    rolled_out.max_by_key(|(number, _)| *number).map(|(_, own)| own.object.key.name.as_str())
}

/// A pool of OpenShift's Machine Config Operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolFacts {
    /// Its name.
    pub name: String,
    /// The rendered configuration that its nodes should have.
    pub target: String,
    /// How many nodes it has.
    pub machines: usize,
    /// How many of them have the target.
    pub updated: usize,
    /// How many of them failed to take it.
    pub degraded: usize,
}

impl From<MachineConfigPool> for PoolFacts {
    fn from(pool: MachineConfigPool) -> Self {
        let count = |number: i32| usize::try_from(number).unwrap_or_default();
        let status = pool.status.unwrap_or_default();
        Self {
            name: pool.metadata.name.unwrap_or_default(),
            target: pool.spec.configuration.name,
            machines: count(status.machine_count),
            updated: count(status.updated_machine_count),
            degraded: count(status.degraded_machine_count),
        }
    }
}

/// A configuration that the Machine Config Operator rendered from all `MachineConfig`s of a pool. It never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedConfig {
    /// The digest of each file's content, by its path.
    pub files: BTreeMap<String, [u8; 32]>,
    /// Its length as JSON.
    pub size: usize,
}

impl RenderedConfig {
    /// The digest of a file's content.
    #[must_use]
    pub fn digest(content: &[u8]) -> [u8; 32] {
        Sha256::digest(content).into()
    }
}

/// Files that cannot be read are none of ours.
impl From<&MachineConfig> for RenderedConfig {
    fn from(config: &MachineConfig) -> Self {
        let files = ignition::ignition_files(&config.spec.config).unwrap_or_default();
        let digest =
            |file: &ignition::IgnitionFile| Some((file.path.clone(), Self::digest(&file.contents().ok()?)));
        Self { files: files.iter().filter_map(digest).collect(), size: config.spec.config.to_string().len() }
    }
}
