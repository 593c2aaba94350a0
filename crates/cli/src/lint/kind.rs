//! Recognises what a file is by its content, or else by its name.

use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;

use pullwright_documents::{DocumentNode, NodeContent, documents, go_toml_document};

/// The files that lint knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FileKind {
    /// registries.conf, or a drop-in of it
    Registries,
    /// The kubelet's credential provider configuration
    ProviderConfig,
    /// The kubelet's own configuration, as far as it says how many images are pulled at once
    KubeletConfig,
    /// auth.json or config.json
    AuthFile,
    /// The old .dockercfg
    Dockercfg,
    /// A hosts.toml of containerd
    HostsToml,
    /// containerd's config.toml
    ContainerdConfig,
    /// Kubernetes objects, of which Secrets and mirror sets are checked
    Manifests,
}

impl FileKind {
    /// What the file is; `None` if neither name nor content shows it.
    pub(crate) fn of(path: &Path, text: &str) -> Option<Self> {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        Self::by_fixed_name(&name).or_else(|| Self::by_content(text)).or_else(|| Self::by_name(&name, text))
    }

    /// What the kind is called.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Registries => "registries.conf",
            Self::ProviderConfig => "CredentialProviderConfig",
            Self::KubeletConfig => "KubeletConfiguration",
            Self::AuthFile => "auth file",
            Self::Dockercfg => ".dockercfg",
            Self::HostsToml => "hosts.toml",
            Self::ContainerdConfig => "containerd's config.toml",
            Self::Manifests => "manifests",
        }
    }

    /// Names that leave no doubt.
    fn by_fixed_name(name: &str) -> Option<Self> {
        match name {
            ".dockercfg" => Some(Self::Dockercfg),
            ".dockerconfigjson" | "auth.json" => Some(Self::AuthFile),
            "registries.conf" => Some(Self::Registries),
            "hosts.toml" => Some(Self::HostsToml),
            _ => None,
        }
    }

    fn by_content(text: &str) -> Option<Self> {
        let objects = documents(text).ok().and_then(|documents| documents.iter().find_map(Self::of_document));
        objects.or_else(|| go_toml_document(text).ok().and_then(|table| Self::of_table(&table)))
    }

    fn of_document(document: &DocumentNode) -> Option<Self> {
        let has = |name: &str| document.members().iter().any(|member| member.name.eq_ignore_ascii_case(name));
        let of_entry = |member: &DocumentNode| {
            ["auth", "username", "identitytoken"].iter().any(|name| member.get(name).is_some())
        };
        match document.get("kind").and_then(DocumentNode::text) {
            Some("CredentialProviderConfig") => Some(Self::ProviderConfig),
            Some("KubeletConfiguration") => Some(Self::KubeletConfig),
            Some(_) if has("apiVersion") => Some(Self::Manifests),
            _ if has("auths") || has("credHelpers") || has("credsStore") => Some(Self::AuthFile),
            _ if document.members().iter().any(|member| of_entry(&member.node)) => Some(Self::Dockercfg),
            _ => None,
        }
    }

    fn of_table(table: &DocumentNode) -> Option<Self> {
        const KNOWN: [&str; 6] = [
            "registry",
            "registries",
            "unqualified-search-registries",
            "short-name-mode",
            "aliases",
            "credential-helpers",
        ];
        let known = |name: &str| KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name));
        let found = matches!(&table.content, NodeContent::Map(members) if members.iter().any(|member| known(&member.name)));
        let has = |name: &str| table.get(name).is_some();
        if found {
            Some(Self::Registries)
        } else if has("plugins") && (has("version") || has("grpc")) {
            Some(Self::ContainerdConfig)
        } else if has("server") || table.get("host").is_some_and(|hosts| !hosts.members().is_empty()) {
            Some(Self::HostsToml)
        } else {
            None
        }
    }

    /// A broken file still needs a kind, so that the errors are those of its format.
    fn by_name(name: &str, text: &str) -> Option<Self> {
        const OBJECTS: [&str; 3] = ["Secret", "MirrorSet", "ImageContentSourcePolicy"];
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if ends(&[".conf"]) {
            Some(Self::Registries)
        } else if name == "config.json" || (ends(&[".json"]) && text.contains("\"auths\"")) {
            Some(Self::AuthFile)
        } else if ends(&[".yaml", ".yml", ".json"]) && text.contains("CredentialProviderConfig") {
            Some(Self::ProviderConfig)
        } else if ends(&[".yaml", ".yml", ".json"]) && text.contains("apiVersion") && has(&OBJECTS) {
            Some(Self::Manifests)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells_before_the_name() {
        for (name, text, kind) in [
            ("x", "[[registry]]\nlocation = 'a.io'", Some(FileKind::Registries)),
            ("x", "unqualified-search-registries = ['docker.io']", Some(FileKind::Registries)),
            ("x", "[registries.search]\nregistries = []", Some(FileKind::Registries)),
            ("99-mine.conf", "", Some(FileKind::Registries)),
            ("x", r#"{"auths": {}}"#, Some(FileKind::AuthFile)),
            ("config.json", "{", Some(FileKind::AuthFile)),
            ("config.json", "{}", Some(FileKind::AuthFile)),
            ("x.json", r#"{"auths": {"#, Some(FileKind::AuthFile)),
            ("x", r#"{"quay.io": {"auth": "dTpw"}}"#, Some(FileKind::Dockercfg)),
            (".dockercfg", "{}", Some(FileKind::Dockercfg)),
            ("hosts.toml", "[host", Some(FileKind::HostsToml)),
            ("x", "[host.'https://a.io']", Some(FileKind::HostsToml)),
            ("config.toml", "version = 3\n[plugins.x]", Some(FileKind::ContainerdConfig)),
            ("config.json", r#"{"apiVersion": "v1", "kind": "Secret"}"#, Some(FileKind::Manifests)),
            ("x", "# first\n---\n---\napiVersion: v1\nkind: List\n", Some(FileKind::Manifests)),
            ("x", "kind: CredentialProviderConfig", Some(FileKind::ProviderConfig)),
            ("x.yaml", "kind: CredentialProviderConfig\nproviders: [", Some(FileKind::ProviderConfig)),
            (
                "config.yaml",
                "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration",
                Some(FileKind::KubeletConfig),
            ),
            ("x.yaml", "apiVersion: v1\nkind: Secret\ndata: {", Some(FileKind::Manifests)),
            ("x.yaml", "apiVersion: v1\nkind: ImageTagMirrorSet\nspec: {", Some(FileKind::Manifests)),
            ("x.yaml", "a: 1", None),
            ("notes.txt", "hello", None),
            ("x", "", None),
        ] {
            assert_eq!(FileKind::of(Path::new(name), text), kind, "{name}: {text}");
        }
    }
}
