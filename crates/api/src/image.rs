//! `Image`: the cluster's registries that are insecure, blocked, allowed, or searched for short names.
//!
//! Pullwright uses only `registrySources`. The other fields exist so that a manifest made for OpenShift keeps them.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::patterns;

/// How the cluster treats registries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "Image",
    plural = "images",
    status = "ImageStatus",
    derive = "PartialEq",
    doc = "How the cluster treats registries. The object that counts is named \"cluster\"."
)]
#[serde(rename_all = "camelCase")]
pub struct ImageSpec {
    /// Where certificate authorities of registries are kept.
    #[serde(rename = "additionalTrustedCA", default, skip_serializing_if = "Option::is_none")]
    pub additional_trusted_ca: Option<ConfigMapName>,
    /// Registries that users of image streams may import from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub allowed_registries_for_import: Option<Vec<RegistryLocation>>,
    /// Names that the cluster's own registry has outside of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub external_registry_hostnames: Option<Vec<String>>,
    /// What image streams make of an index of several images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_stream_import_mode: Option<ImportMode>,
    /// How nodes treat registries when they pull.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_sources: Option<RegistrySources>,
}

/// How nodes treat registries. An empty list is something else than none: with `allowedRegistries: []`, nothing is allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.blockedRegistries) ? !has(self.allowedRegistries) : true",
    "message": "Only one of blockedRegistries or allowedRegistries may be set",
}]))]
pub struct RegistrySources {
    /// Registries without TLS, or whose certificates are not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"), length(max = 1024))]
    pub insecure_registries: Option<Vec<Scope>>,
    /// Registries that nothing is pulled from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"), length(max = 1024))]
    pub blocked_registries: Option<Vec<Scope>>,
    /// The only registries that anything is pulled from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"), length(max = 1024))]
    pub allowed_registries: Option<Vec<Scope>>,
    /// Registries that are asked, in this order, for an image whose name has no host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "set", "format" = "hostname"), length(min = 1))]
    pub container_runtime_search_registries: Option<Vec<String>>,
}

/// A registry or a part of one: `host[:port][/path]`, or `*.host`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": patterns::matches(patterns::SOURCE),
    "message": "each registry must be a valid hostname[:port][/path] or wildcard *.hostname format without tags or digests",
}]))]
pub struct Scope(#[schemars(length(min = 1, max = 256))] pub String);

/// The name of a `ConfigMap` in the namespace `openshift-config`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigMapName {
    /// The name.
    pub name: String,
}

/// A registry that users may import from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryLocation {
    /// Its host, with the port if it is not the usual one. It may have wildcards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain_name: Option<String>,
    /// Whether it is without TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
}

/// What image streams make of an index of several images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ImportMode {
    /// What the release decides.
    #[serde(rename = "")]
    ByRelease,
    /// One of its images.
    Legacy,
    /// The index and all of its images.
    PreserveOriginal,
}

/// What OpenShift's own registry reports of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageStatus {
    /// Names that it has outside of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub external_registry_hostnames: Option<Vec<String>>,
    /// Its name inside of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal_registry_hostname: Option<String>,
    /// What image streams make of an index of several images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_stream_import_mode: Option<ImportMode>,
}
