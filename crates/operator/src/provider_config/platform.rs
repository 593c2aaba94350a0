//! The cloud that nodes run in, as far as the kubelet's provider configuration depends on it: each has a provider of its own.

use serde_json::{Value, json};

/// Where the kubelet finds the plugins on OpenShift.
const PLUGIN_FOLDER: &str = "/usr/libexec/kubelet-image-credential-provider-plugins";
/// Where OpenShift keeps the provider configuration.
const CONFIG_FOLDER: &str = "/etc/kubernetes/credential-providers";
/// The drop-in with the kubelet's flags, for platforms whose units have none.
const FLAGS_DROP_IN: &str =
    "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf";

/// A cloud with a provider of its own, or something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Platform {
    /// Amazon's, with `ecr-credential-provider`.
    Aws,
    /// Google's, with `gcr-credential-provider`.
    Gcp,
    /// Microsoft's, with `acr-credential-provider`.
    Azure,
    /// Without a provider. On OpenShift, its kubelet units expand the variable that the flags are in.
    OnPremises,
    /// Without a provider, and on OpenShift with kubelet units that do not expand the variable.
    Other,
}

impl Platform {
    /// The platform that OpenShift's `Infrastructure` names.
    #[must_use]
    pub fn from_openshift(platform: &str) -> Self {
        match platform {
            "AWS" => Self::Aws,
            "GCP" => Self::Gcp,
            "Azure" => Self::Azure,
            "BareMetal" | "oVirt" | "OpenStack" | "VSphere" | "Nutanix" => Self::OnPremises,
            _ => Self::Other,
        }
    }

    /// The platform that the `spec.providerID` of a Node names.
    #[must_use]
    pub fn from_provider_id(provider_id: &str) -> Self {
        match provider_id.split_once("://").map(|(scheme, _)| scheme) {
            Some("aws") => Self::Aws,
            Some("gce") => Self::Gcp,
            Some("azure") => Self::Azure,
            _ => Self::Other,
        }
    }

    /// The kubelet's provider configuration on this platform, as it is without us.
    #[must_use]
    pub fn providers(self) -> Option<Value> {
        let (name, patterns, cache, args): (_, &[&str], _, &[&str]) = match self {
            Self::Aws => (
                "ecr-credential-provider",
                &[
                    "*.dkr.ecr.*.amazonaws.com",
                    "*.dkr.ecr.*.amazonaws.com.cn",
                    "*.dkr.ecr-fips.*.amazonaws.com",
                    "*.dkr.ecr.us-iso-east-1.c2s.ic.gov",
                    "*.dkr.ecr.us-isob-east-1.sc2s.sgov.gov",
                ],
                "12h",
                &[],
            ),
            Self::Gcp => (
                "gcr-credential-provider",
                &["gcr.io", "*.gcr.io", "*.pkg.dev", "container.cloud.google.com"],
                "1m",
                &["get-credentials", "--v=3"],
            ),
            Self::Azure => (
                "acr-credential-provider",
                &["*.azurecr.io", "*.azurecr.cn", "*.azurecr.de", "*.azurecr.us"],
                "10m",
                &["/etc/kubernetes/cloud.conf"],
            ),
            Self::OnPremises | Self::Other => return None,
        };
        let mut provider = json!({
            "name": name,
            "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
            "matchImages": patterns,
            "defaultCacheDuration": cache,
        });
        if !args.is_empty() {
            provider["args"] = json!(args);
        }
        Some(json!({
            "apiVersion": "kubelet.config.k8s.io/v1",
            "kind": "CredentialProviderConfig",
            "providers": [provider],
        }))
    }

    /// Where OpenShift's kubelets look for that file.
    #[must_use]
    pub fn openshift_path(self) -> String {
        let name = match self {
            Self::Aws => "ecr",
            Self::Gcp => "gcr",
            Self::Azure => "acr",
            Self::OnPremises | Self::Other => "generic",
        };
        format!("{CONFIG_FOLDER}/{name}-credential-provider.yaml")
    }

    /// The drop-in that tells the kubelet of that file, path and text, where OpenShift's units do not.
    #[must_use]
    pub fn openshift_flags(self) -> Option<(&'static str, String)> {
        let text = || {
            format!(
                "[Service]\n\
                 # Prepends the credential provider flags to the existing Kubelet arguments\n\
                 Environment=\"KUBELET_CRIO_IMAGE_CREDENTIAL_PROVIDER_FLAGS=\
                 --image-credential-provider-bin-dir={PLUGIN_FOLDER} \
                 --image-credential-provider-config={}\"\n",
                self.openshift_path()
            )
        };
        matches!(self, Self::OnPremises | Self::Other).then(|| (FLAGS_DROP_IN, text()))
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn the_drop_in_is_the_machine_config_operators() {
        let (_, text) = Platform::Other.openshift_flags().unwrap();
        let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text.len(), 340);
        assert_eq!(digest, "8019a54635df925703719d94a0daf30b2828f49862234de2c5e15c04dc7193f1");
        assert_eq!(Platform::Aws.openshift_flags(), None, "the unit has the flags already");
    }

    #[test]
    fn a_node_names_its_cloud() {
        assert_eq!(Platform::from_provider_id("aws:///us-east-1a/i-0123"), Platform::Aws);
        assert_eq!(Platform::from_provider_id("gce://project/zone/name"), Platform::Gcp);
        assert_eq!(Platform::from_provider_id("azure:///subscriptions/x"), Platform::Azure);
        assert_eq!(Platform::from_provider_id("kind://docker/kind/kind"), Platform::Other);
        assert_eq!(Platform::from_provider_id(""), Platform::Other);
    }
}
