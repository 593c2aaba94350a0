//! The exec protocol between the kubelet and a credential provider: one request on standard input, one answer on standard
//! output, both in the version that the kubelet's configuration sets.

use std::fmt;

mod request;
mod response;

pub use request::{Request, RequestError};
pub use response::{AuthConfig, CacheKeyType, Response, ResponseError};

/// The API group of the protocol.
pub const GROUP: &str = "credentialprovider.kubelet.k8s.io";

/// The versions of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApiVersion {
    /// `credentialprovider.kubelet.k8s.io/v1alpha1`
    V1Alpha1,
    /// `credentialprovider.kubelet.k8s.io/v1beta1`
    V1Beta1,
    /// `credentialprovider.kubelet.k8s.io/v1`, the only one that supports service account tokens.
    V1,
}

impl ApiVersion {
    /// All versions, in the kubelet's order.
    pub const ALL: [Self; 3] = [Self::V1, Self::V1Alpha1, Self::V1Beta1];

    /// Group and version, as in `apiVersion`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1Alpha1 => "credentialprovider.kubelet.k8s.io/v1alpha1",
            Self::V1Beta1 => "credentialprovider.kubelet.k8s.io/v1beta1",
            Self::V1 => "credentialprovider.kubelet.k8s.io/v1",
        }
    }

    /// Returns the version whose name is exactly `text`.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
