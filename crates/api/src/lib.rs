//! The Kubernetes types that configure where images are pulled from and when the plugin is asked, and their CRDs. Also what
//! the operator hands to the nodes.
//!
//! Groups, names, patterns, enums and list types are OpenShift's, so that manifests and clients made for OpenShift work
//! unchanged on any Kubernetes. On OpenShift, the existing CRDs are used as they are. There are two compatible additions:
//! mirror sets have `status.conditions`, and writing an `ImageContentSourcePolicy` returns a warning.
//!
//! | kind | version | CRD |
//! | --- | --- | --- |
//! | [`ImageDigestMirrorSet`], [`ImageTagMirrorSet`] | `config.openshift.io/v1` | as upstream |
//! | [`ImageContentSourcePolicy`] | `operator.openshift.io/v1alpha1` | as upstream |
//! | [`Image`] | `config.openshift.io/v1` | as upstream; only `registrySources` means something here |
//! | [`v1::CRIOCredentialProviderConfig`], [`v1alpha1::CRIOCredentialProviderConfig`] | `config.openshift.io/v1`, `v1alpha1` | both served, one schema |
//! | [`NodeConfiguration`], [`NodeState`] | `pullwright.dev/v1alpha1` | Pullwright's own |
//! | [`openshift`]: `MachineConfig`, `MachineConfigPool`, `Infrastructure`, `ClusterVersion` | `v1` | none: OpenShift has them |
//!
//! The crate has no client: [`crds`] makes the definitions, and every kind that names registries converts into the engine's
//! value for it.

pub mod access;
pub mod condition;
mod conversion;
pub mod crds;
mod crio_credential_provider_config;
pub mod ignition;
mod image;
mod image_content_source_policy;
mod migration;
mod mirror_sets;
pub mod names;
mod node_configuration;
mod node_state;
pub mod openshift;
mod patterns;

pub use crio_credential_provider_config::{MatchImage, SINGLETON, v1, v1alpha1};
pub use image::{
    ConfigMapName, Image, ImageSpec, ImageStatus, ImportMode, RegistryLocation, RegistrySources, Scope,
};
pub use image_content_source_policy::{
    ImageContentSourcePolicy, ImageContentSourcePolicySpec, RepositoryDigestMirrors,
};
pub use mirror_sets::{
    ImageDigestMirrorSet, ImageDigestMirrorSetSpec, ImageTagMirrorSet, ImageTagMirrorSetSpec, MirrorRule,
    MirrorSetStatus, MirrorSourcePolicy,
};
pub use node_configuration::{ConfigurationFile, NodeConfiguration, NodeConfigurationSpec, NodeRuntime};
pub use node_state::{NodeProgress, NodeState, NodeStateSpec, NodeStateStatus};

use serde::{Deserialize, Deserializer};

/// Reads `null` as nothing, as Go's decoder does: Go clients write it for an empty list.
fn null_is_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
