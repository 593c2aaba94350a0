//! `ImageDigestMirrorSet` and `ImageTagMirrorSet`: mirrors for pulls by digest, and for pulls by tag.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{condition, null_is_default, patterns};

/// Which mirrors to pull from where an image is named by its digest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "ImageDigestMirrorSet",
    plural = "imagedigestmirrorsets",
    shortname = "idms",
    status = "MirrorSetStatus",
    derive = "PartialEq",
    doc = "Mirrors of repositories, for images that are named by digest."
)]
#[serde(rename_all = "camelCase")]
pub struct ImageDigestMirrorSetSpec {
    /// Rules for pulls by digest. Of the rules whose source an image matches, only those of the most specific source
    /// count. Several rules for one source are merged: if one has the mirrors a, b, c and another c, d, e, they are tried
    /// in the order a, b, c, d, e. If their orders contradict each other, the order is not defined.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub image_digest_mirrors: Vec<MirrorRule>,
}

/// Which mirrors to pull from where an image is named by a tag.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "ImageTagMirrorSet",
    plural = "imagetagmirrorsets",
    shortname = "itms",
    status = "MirrorSetStatus",
    derive = "PartialEq",
    doc = "Mirrors of repositories, for images that are named by tag. What a tag stands for may differ between a mirror and its \
           source."
)]
#[serde(rename_all = "camelCase")]
pub struct ImageTagMirrorSetSpec {
    /// Rules for pulls by tag. Of the rules whose source an image matches, only those of the most specific source count.
    /// Several rules for one source are merged: if one has the mirrors a, b, c and another c, d, e, they are tried in the
    /// order a, b, c, d, e. If their orders contradict each other, the order is not defined.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub image_tag_mirrors: Vec<MirrorRule>,
}

/// A source, its mirrors, and whether the source may be asked as well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MirrorRule {
    /// What images are named by: `host[:port]`, `host[:port]/namespace…`, `host[:port]/namespace…/repository`, or `*.host` for
    /// all hosts below a domain.
    #[schemars(regex(pattern = patterns::SOURCE))]
    pub source: String,
    /// Where the same images may be found, best first. A mirror takes the place of the part of the image's name that is the
    /// source: for the source `*.redhat.io`, the mirror `mirror.local/redhat` and the image `registry.redhat.io/product/repo`
    /// that is `mirror.local/redhat/product/repo`. Formats are those of source, without the wildcard.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    #[schemars(extend("x-kubernetes-list-type" = "set"), inner(regex(pattern = patterns::MIRROR)))]
    pub mirrors: Vec<String>,
    /// Whether the source is asked as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror_source_policy: Option<MirrorSourcePolicy>,
}

/// Whether the source is asked when no mirror has the image. Unset means that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MirrorSourcePolicy {
    /// It is not.
    NeverContactSource,
    /// It is.
    AllowContactingSource,
}

// In OpenShift's CRDs, the status has no fields, so the API server drops the conditions there.
/// What became of the rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorSetStatus {
    /// Whether they are in effect, and what is wrong with those that are not.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    #[schemars(schema_with = "condition::list")]
    pub conditions: Vec<Condition>,
}
