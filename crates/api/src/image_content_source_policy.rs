//! `ImageContentSourcePolicy`: the predecessor of [`ImageDigestMirrorSet`](crate::ImageDigestMirrorSet), for clusters that
//! still use it.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MirrorSetStatus, null_is_default};

/// Which mirrors to pull from where an image is named by its digest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(
    group = "operator.openshift.io",
    version = "v1alpha1",
    kind = "ImageContentSourcePolicy",
    plural = "imagecontentsourcepolicies",
    status = "MirrorSetStatus",
    derive = "PartialEq",
    deprecated = "operator.openshift.io/v1alpha1 ImageContentSourcePolicy is deprecated; `pullwright migrate icsp` makes it a config.openshift.io/v1 ImageDigestMirrorSet",
    doc = "Mirrors of repositories, for images that are named by digest. ImageDigestMirrorSet replaces it."
)]
#[serde(rename_all = "camelCase")]
pub struct ImageContentSourcePolicySpec {
    /// Rules for pulls by digest, merged as those of an `ImageDigestMirrorSet`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    pub repository_digest_mirrors: Vec<RepositoryDigestMirrors>,
}

/// A source and its mirrors. The API checks neither; a rule that an `ImageDigestMirrorSet` could not have is without effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryDigestMirrors {
    /// What images are named by.
    pub source: String,
    /// Where the same images may be found, best first. The source is asked last.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    pub mirrors: Vec<String>,
}
