//! What an administrator sets for the whole cluster when starting the operator.

use pullwright_api::{NodeRuntime, names};
use pullwright_nodeconfig::containerd;
use serde_json::Value;

use crate::provider_config::PluginSettings;

/// How nodes are configured beyond what the objects say.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeSettings {
    /// The audience of the tokens that kubelets request for the plugin.
    pub audience: String,
    /// Whether the plugin reads only Secrets that a service account names.
    pub named_secrets: bool,
    /// Registries that only a wildcard matches and that need a file of their own on containerd and K3s.
    pub hosts: Vec<String>,
    /// The provider configuration that nodes have without us, beyond what their cloud is known to bring.
    pub existing_providers: Option<Value>,
}

impl NodeSettings {
    /// How kubelets on nodes of this runtime run the plugin.
    #[must_use]
    pub fn plugin(&self, runtime: NodeRuntime) -> PluginSettings {
        let mut args = Vec::new();
        if self.named_secrets {
            args.extend(["--secrets", "named"]);
        }
        // Only CRI-O looks for auth files. Everywhere else our image service does, by the ticket in the plugin's answer.
        if runtime != NodeRuntime::Crio {
            args.extend(["--deliver", "ticket", "--auth-dir", containerd::AUTH_FOLDER]);
        }
        let annotation = self.named_secrets.then(|| names::PULL_SECRETS.to_owned());
        PluginSettings {
            audience: self.audience.clone(),
            args: args.into_iter().map(str::to_owned).collect(),
            annotation_keys: annotation.into_iter().collect(),
        }
    }
}
