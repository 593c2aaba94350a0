//! `NodeConfiguration`: what all nodes with one runtime should have, named by its content.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{null_is_default, patterns};

/// What the nodes of one runtime should have.
///
/// An object is made once and never changed: its name says which content it has ([`object_name`](Self::object_name)), so
/// whoever knows the name can check the content. The API server cannot check this itself. A rule that compares the old
/// files with the new ones costs more than it allows for lists of this size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(
    group = "pullwright.dev",
    version = "v1alpha1",
    kind = "NodeConfiguration",
    plural = "nodeconfigurations",
    shortname = "nodeconfig",
    derive = "PartialEq",
    printcolumn(name = "Runtime", type_ = "string", json_path = ".spec.runtime"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.startsWith(self.spec.runtime + '-')")
        .message("the name of a NodeConfiguration is its runtime, a hyphen, and the digest of its content"),
    doc = "What all nodes with one runtime should have. The operator makes these objects. The name of an \
           object contains a digest of its content, and the object is never changed: new content is a new object."
)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "What the nodes of one runtime should have.")]
pub struct NodeConfigurationSpec {
    /// The runtime whose nodes this is for.
    pub runtime: NodeRuntime,
    /// The files that the nodes should have.
    // Atomic: a list of type `map` would have the API server record every path once more, in `managedFields`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"), length(max = 8192))]
    pub files: Vec<ConfigurationFile>,
    /// The kubelet's `CredentialProviderConfig` as YAML, with Pullwright's provider only. A node with providers of its own keeps
    /// those. Without this field, nodes do not run the plugin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 131_072))]
    pub credential_provider_config: Option<String>,
}

/// A file on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigurationFile {
    /// Its absolute path, without `.` and `..`.
    #[schemars(length(max = 1024), regex(pattern = patterns::FILE_PATH))]
    pub path: String,
    /// Its permissions, as a decimal number: 420 is 0644.
    #[schemars(range(min = 0, max = 511))]
    pub mode: i32,
    /// Its whole text.
    #[schemars(length(max = 1_048_576))]
    pub content: String,
}

/// A runtime that nodes can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeRuntime {
    /// CRI-O.
    Crio,
    /// containerd.
    Containerd,
    /// The containerd inside K3s and RKE2.
    K3s,
}

impl NodeRuntime {
    /// Every runtime.
    pub const ALL: [Self; 3] = [Self::Crio, Self::Containerd, Self::K3s];

    /// Whether a `NodeConfiguration` of this name is for nodes with this runtime.
    #[must_use]
    pub fn has_configuration(self, name: &str) -> bool {
        name.strip_prefix(self.name()).is_some_and(|rest| rest.starts_with('-'))
    }

    /// Its name, as in the table of runtimes and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Crio => "crio",
            Self::Containerd => "containerd",
            Self::K3s => "k3s",
        }
    }
}

impl NodeRuntime {
    /// The runtime of a node whose kubelet reports these versions (`status.nodeInfo`): `containerRuntimeVersion`, such as
    /// `cri-o://1.36.3`, and `kubeletVersion`, which tells K3s from a containerd of its own. `None` for runtimes that cannot be
    /// configured, and if the kubelet has not reported yet.
    #[must_use]
    pub fn reported(runtime_version: &str, kubelet_version: &str) -> Option<Self> {
        let (runtime, _) = runtime_version.split_once("://")?;
        let distribution = kubelet_version.split_once('+').map_or("", |(_, distribution)| distribution);
        match runtime {
            "cri-o" => Some(Self::Crio),
            // RKE2 keeps its file elsewhere and restarts another service, so it is not taken for K3s.
            "containerd" if distribution.starts_with("rke2") => None,
            "containerd" if distribution.starts_with("k3s") => Some(Self::K3s),
            "containerd" => Some(Self::Containerd),
            _ => None,
        }
    }
}

impl NodeConfigurationSpec {
    /// The name of the object with this content: the runtime and the first ten hexadecimal digits of the SHA-256 of the spec as
    /// JSON, with the fields in the order in which they are declared.
    #[must_use]
    pub fn object_name(&self) -> String {
        let mut json = Vec::new();
        // Texts and numbers are written into memory, which does not fail.
        let _ = serde_json::to_writer(&mut json, self);
        let digest: String = Sha256::digest(&json).iter().take(5).map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{digest}", self.runtime.name())
    }

    /// The object with this content, under its name.
    #[must_use]
    pub fn into_object(self) -> NodeConfiguration {
        NodeConfiguration::new(&self.object_name(), self)
    }
}

impl NodeConfiguration {
    /// Whether the content is the one that the name promises.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.metadata.name.as_deref() == Some(self.spec.object_name().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> NodeConfigurationSpec {
        NodeConfigurationSpec {
            runtime: NodeRuntime::Crio,
            files: vec![ConfigurationFile {
                path: "/etc/containers/registries.conf".to_owned(),
                mode: 0o644,
                content: "a = \"b\"\n".to_owned(),
            }],
            credential_provider_config: None,
        }
    }

    #[test]
    fn the_name_is_the_runtime_and_the_digest_of_the_json() {
        // printf '%s' '{"runtime":"crio","files":[{"path":"/etc/containers/registries.conf","mode":420,"content":"a = \"b\"\\n"}]}' | sha256sum
        assert_eq!(spec().object_name(), "crio-777514b02a");
    }

    #[test]
    fn every_part_of_the_content_is_in_the_name() {
        let mut names = vec![spec().object_name()];
        let mut changed = |change: fn(&mut NodeConfigurationSpec)| {
            let mut spec = spec();
            change(&mut spec);
            names.push(spec.object_name());
        };
        changed(|spec| spec.runtime = NodeRuntime::K3s);
        changed(|spec| spec.files.clear());
        changed(|spec| spec.files[0].path.push('.'));
        changed(|spec| spec.files[0].mode = 0o600);
        changed(|spec| spec.files[0].content.clear());
        changed(|spec| spec.credential_provider_config = Some(String::new()));
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all, "{names:?}");
    }

    #[test]
    fn an_object_that_somebody_changed_is_not_intact() {
        let mut object = spec().into_object();
        assert!(object.is_intact());
        object.spec.files[0].content.push('\n');
        assert!(!object.is_intact());
    }

    #[test]
    fn a_kubelet_names_its_runtime() {
        let reported = NodeRuntime::reported;
        assert_eq!(reported("cri-o://1.36.3", "v1.36.3"), Some(NodeRuntime::Crio));
        assert_eq!(reported("containerd://2.4.2", "v1.36.3"), Some(NodeRuntime::Containerd));
        assert_eq!(reported("containerd://2.1.4-k3s1", "v1.34.1+k3s1"), Some(NodeRuntime::K3s));
        assert_eq!(reported("containerd://2.1.4-k3s1", "v1.34.1+rke2r1"), None);
        assert_eq!(reported("docker://28.0", "v1.36.3"), None);
        assert_eq!(reported("", ""), None);
    }

    #[test]
    fn a_runtime_is_written_as_it_is_named() {
        for runtime in NodeRuntime::ALL {
            assert_eq!(serde_json::to_value(runtime).unwrap(), runtime.name());
        }
    }
}
