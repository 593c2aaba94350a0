//! Recognizes a `CredentialProviderConfig` and its version.

use super::DecodeError;
use crate::kubelet::header::Header;

/// The versions of a `CredentialProviderConfig`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigVersion {
    V1Alpha1,
    V1Beta1,
    V1,
}

impl ConfigVersion {
    /// The version without its group.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::V1Alpha1 => "v1alpha1",
            Self::V1Beta1 => "v1beta1",
            Self::V1 => "v1",
        }
    }

    /// Returns the version from a header.
    pub(super) fn of(header: Header) -> Result<Self, DecodeError> {
        if header.kind.is_empty() {
            return Err(DecodeError::MissingKind);
        }
        match (header.group.as_str(), header.version.as_str(), header.kind.as_str()) {
            (_, "", _) => Err(DecodeError::MissingVersion),
            ("kubelet.config.k8s.io", "v1alpha1", "CredentialProviderConfig") => Ok(Self::V1Alpha1),
            ("kubelet.config.k8s.io", "v1beta1", "CredentialProviderConfig") => Ok(Self::V1Beta1),
            ("kubelet.config.k8s.io", "v1", "CredentialProviderConfig") => Ok(Self::V1),
            (group, version, kind) if is_another_kind(group, version, kind) => {
                Err(DecodeError::WrongKind(header.kind))
            }
            _ => Err(DecodeError::UnknownKind { version: header.api_version(), kind: header.kind }),
        }
    }
}

/// Whether the kubelet's decoder knows this other kind. It decodes such a document and then refuses it by name.
fn is_another_kind(group: &str, version: &str, kind: &str) -> bool {
    match (group, version) {
        ("kubelet.config.k8s.io", "v1alpha1") => matches!(kind, "ImagePullIntent" | "ImagePulledRecord"),
        ("kubelet.config.k8s.io", "v1beta1") => matches!(
            kind,
            "ImagePullIntent" | "ImagePulledRecord" | "KubeletConfiguration" | "SerializedNodeConfigSource"
        ),
        ("credentialprovider.kubelet.k8s.io", "v1alpha1" | "v1beta1" | "v1") => {
            matches!(kind, "CredentialProviderRequest" | "CredentialProviderResponse")
        }
        _ => false,
    }
}
