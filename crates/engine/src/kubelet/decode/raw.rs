//! The fields of a `CredentialProviderConfig` as decoded, before any rule is checked.

use crate::credentials::Sensitive;
use pullwright_golang::duration::Duration;

/// The fields of one provider, as decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::kubelet) struct RawProvider {
    pub(in crate::kubelet) name: String,
    pub(in crate::kubelet) match_images: Vec<String>,
    pub(in crate::kubelet) default_cache_duration: Option<Duration>,
    pub(in crate::kubelet) api_version: String,
    pub(in crate::kubelet) args: Vec<String>,
    pub(in crate::kubelet) env: Vec<RawEnvVar>,
    pub(in crate::kubelet) token_attributes: Option<RawTokenAttributes>,
}

/// The fields of one environment variable, as decoded.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(in crate::kubelet) struct RawEnvVar {
    pub(in crate::kubelet) name: String,
    pub(in crate::kubelet) value: Sensitive,
}

/// The fields of `tokenAttributes`, as decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::kubelet) struct RawTokenAttributes {
    pub(in crate::kubelet) audience: String,
    pub(in crate::kubelet) cache_type: String,
    pub(in crate::kubelet) require_service_account: Option<bool>,
    pub(in crate::kubelet) required_keys: Vec<String>,
    pub(in crate::kubelet) optional_keys: Vec<String>,
}
