//! The credential provider plugins of a node, and the kubelet's configuration of them.

use std::path::{Path, PathBuf};

use crate::{control_plane::AUDIENCE, node::PLUGIN};

/// A credential provider plugin.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The name under which the kubelet runs a copy of the program.
    pub name: &'static str,
    /// The program.
    pub program: PathBuf,
    /// The images for which it runs.
    pub images: &'static [&'static str],
    /// The arguments.
    pub args: &'static [&'static str],
    /// The annotations of a Pod's service account that the kubelet passes to it.
    pub annotations: &'static [&'static str],
}

impl Provider {
    /// The plugin for images of `docker.io`, without arguments.
    #[must_use]
    pub fn new(program: &Path) -> Self {
        Self {
            name: PLUGIN,
            program: program.to_owned(),
            images: &["docker.io"],
            args: &[],
            annotations: &[],
        }
    }
}

/// Returns the kubelet's configuration of all plugins. JSON is valid YAML.
pub(super) fn configuration(providers: &[Provider]) -> String {
    let providers: Vec<_> = providers
        .iter()
        .map(|provider| {
            serde_json::json!({
                "name": provider.name,
                "matchImages": provider.images,
                "args": provider.args,
                "defaultCacheDuration": "1s",
                "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
                "tokenAttributes": {
                    "serviceAccountTokenAudience": AUDIENCE,
                    "cacheType": "Token",
                    "requireServiceAccount": false,
                    "optionalServiceAccountAnnotationKeys": provider.annotations,
                },
            })
        })
        .collect();
    let configuration = serde_json::json!({
        "apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig", "providers": providers,
    });
    format!("{configuration:#}\n")
}
