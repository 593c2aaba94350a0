//! Reads the files of a configuration as those do who will read them on the node. Whatever they would refuse never gets there.

use std::path::{Path, PathBuf};

use pullwright_api::{ConfigurationFile, NodeConfigurationSpec, NodeRuntime};
use pullwright_documents::{DocumentNode, documents};
use pullwright_engine::containerd::{HOSTS_TOML, HostsToml};
use pullwright_engine::kubelet::{ConfigFile, CredentialProviderConfig};
use pullwright_nodeconfig::{CurrentFile, CurrentFiles, Layout, RUNTIMES, Runtime, crio, k3s};
use serde_json::Value;

use super::PlanError;

/// Whether a configuration can bring this file: one that the runtime, our plugin or our image service reads, and nobody executes.
pub(super) fn is_about_registries(runtime: NodeRuntime, file: &ConfigurationFile) -> bool {
    let path = Path::new(&file.path);
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    let read = match parts.as_slice() {
        ["/", "etc", "containers", "registries.conf" | "policy.json"] => runtime == NodeRuntime::Crio,
        ["/", "etc", "containers", "registries.conf.d", name] => {
            Path::new(name).extension().is_some_and(|ending| ending == "conf")
        }
        ["/", "etc", "containerd", "certs.d", _, HOSTS_TOML] => runtime == NodeRuntime::Containerd,
        _ => runtime == NodeRuntime::K3s && file.path == k3s::REGISTRIES_YAML,
    };
    read && file.mode & 0o111 == 0
}

/// Reads the files as the kubelet will, since it does not start if it refuses one.
pub(super) fn check_providers(files: &[(PathBuf, String)]) -> Result<(), PlanError> {
    let mut read = Vec::new();
    for (path, text) in files {
        let json = first_document(path, text)?.to_string();
        read.push((path.display().to_string(), json));
    }
    let files: Vec<_> = read.iter().map(|(path, json)| ConfigFile { path, json: json.as_bytes() }).collect();
    CredentialProviderConfig::load(&files)?;
    Ok(())
}

/// Reads the runtime's files as the runtime will, and `registries.conf` as our plugin will.
pub(super) fn check_files(spec: &NodeConfigurationSpec) -> Result<(), PlanError> {
    let own = Runtime::find(RUNTIMES, spec.runtime.name()).filter(|row| **row != crio::RUNTIME);
    for row in own.into_iter().chain([&crio::RUNTIME]) {
        let ends = |path: &str| Path::new(path).extension().is_some_and(|ending| ending == "conf");
        let read = |path: &str| {
            Path::new(path).starts_with(row.folder) && (row.layout != Layout::RegistriesConf || ends(path))
        };
        let files = spec.files.iter().filter(|file| read(&file.path));
        let files: Vec<_> = files
            .map(|file| CurrentFile { path: file.path.clone().into(), text: Some(file.content.clone()) })
            .collect();
        if row.layout == Layout::CertsD {
            for file in &files {
                let text = file.text.as_deref().unwrap_or_default();
                HostsToml::parse(text).map_err(|error| PlanError::Hosts {
                    path: file.path.display().to_string(),
                    why: error.to_string(),
                })?;
            }
        }
        (row.parse)(&CurrentFiles { files, main: None })?;
    }
    Ok(())
}

/// The first document of a text; nothing if it has none.
pub(super) fn first_document(path: &Path, text: &str) -> Result<Value, PlanError> {
    let documents =
        documents(text).map_err(|why| PlanError::Yaml { path: path.display().to_string(), why })?;
    Ok(documents.first().map(DocumentNode::value).unwrap_or_default())
}
