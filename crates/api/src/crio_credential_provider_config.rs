//! `CRIOCredentialProviderConfig`: the images for which the kubelet asks the plugin. Its two versions have the same schema,
//! so the API server can convert between them by itself.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{condition, null_is_default, patterns};

/// The name of the one object that may exist.
pub const SINGLETON: &str = "cluster";

/// An image the plugin is asked for: `host[:port][/path]`, where `*` may stand for a whole label of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "self != '*'",
        "message": "global wildcard '*' is not allowed",
    },
    {
        "rule": patterns::matches(patterns::MATCH_IMAGE),
        "message": "invalid matchImages value, must be a valid fully qualified domain name in lowercase with optional wildcard, port, and path",
    },
]))]
pub struct MatchImage(#[schemars(length(min = 1, max = 512))] pub String);

/// What became of the configuration. The API takes it only with conditions in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub struct CRIOCredentialProviderConfigStatus {
    /// Whether the configuration is valid, and whether it is on its way to the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    #[schemars(schema_with = "condition::list")]
    pub conditions: Vec<Condition>,
}

/// `config.openshift.io/v1`, which is stored.
pub mod v1 {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    pub use super::CRIOCredentialProviderConfigStatus;
    use crate::MatchImage;

    /// For which images the kubelet asks the plugin.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
    #[kube(
        group = "config.openshift.io",
        version = "v1",
        kind = "CRIOCredentialProviderConfig",
        plural = "criocredentialproviderconfigs",
        status = "CRIOCredentialProviderConfigStatus",
        derive = "PartialEq",
        validation = Rule::new("self.metadata.name == 'cluster'")
            .message("criocredentialproviderconfig is a singleton, .metadata.name must be 'cluster'"),
        doc = "For which images the kubelet asks the credential provider that takes credentials from the Pod's namespace. \
               The one object is named \"cluster\"."
    )]
    #[serde(rename_all = "camelCase")]
    pub struct CRIOCredentialProviderConfigSpec {
        /// The images as Pods name them: `host[:port][/path]`. A `*` stands for one whole label of the host, so `*.io` is not
        /// `registry.k8s.io`; a path matches all paths that begin with it; `*` alone is not allowed. Images that another
        /// provider on the node is asked for should not be repeated here. Without images the provider is not asked at all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-kubernetes-list-type" = "set"), length(min = 1, max = 50))]
        pub match_images: Option<Vec<MatchImage>>,
    }
}

/// `config.openshift.io/v1alpha1`, the only version that OpenShift 4.22 has.
pub mod v1alpha1 {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    pub use super::CRIOCredentialProviderConfigStatus;
    use super::v1;

    /// For which images the kubelet asks the plugin.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
    #[kube(
        group = "config.openshift.io",
        version = "v1alpha1",
        kind = "CRIOCredentialProviderConfig",
        plural = "criocredentialproviderconfigs",
        status = "CRIOCredentialProviderConfigStatus",
        derive = "PartialEq",
        validation = Rule::new("self.metadata.name == 'cluster'")
            .message("criocredentialproviderconfig is a singleton, .metadata.name must be 'cluster'"),
        doc = "For which images the kubelet asks the credential provider that takes credentials from the Pod's namespace. \
               The one object is named \"cluster\"."
    )]
    #[serde(transparent)]
    pub struct CRIOCredentialProviderConfigSpec(pub v1::CRIOCredentialProviderConfigSpec);
}
