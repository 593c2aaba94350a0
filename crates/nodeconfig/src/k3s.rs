//! k3s and RKE2: one `registries.yaml`, from which they write containerd's files when they start.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pullwright_documents::documents;
use pullwright_engine::containerd::{CertsD, host_of_folder, k3s};
use pullwright_findings::{Finding, rules};

use crate::{
    ConfigChange, EndpointsChange, FileChange, Layout, NodeFile, NodeFileError, Reload, Rendering, Runtime,
    RuntimeState, is_ours,
};

/// Where k3s looks; RKE2 has a folder of its own.
pub const REGISTRIES_YAML: &str = "/etc/rancher/k3s/registries.yaml";

/// The row of k3s.
pub const RUNTIME: Runtime = Runtime {
    name: "k3s",
    about: "k3s and RKE2: registries.yaml",
    folder: "/etc/rancher/k3s",
    layout: Layout::OneFile { path: REGISTRIES_YAML },
    policy: None,
    render: |conf, hosts| {
        let rendered = k3s::render(conf, hosts);
        let files = vec![NodeFile::config(REGISTRIES_YAML, rendered.text)];
        Rendering { files, unsupported: rendered.findings }
    },
    parse: |current| {
        let text = current.files.first().and_then(|file| file.text.as_deref());
        let foreign = text.is_some_and(|text| !is_ours(text));
        Ok(Box::new(K3sFile { before: certs_d(text.unwrap_or_default())?, foreign }))
    },
    reload: Reload::Restart("k3s"),
    takes_effect: "restart k3s to apply it; running Pods keep running",
    machine_config: false,
};

/// The file of a node.
struct K3sFile {
    before: CertsD,
    foreign: bool,
}

impl RuntimeState for K3sFile {
    /// One change for each host that the old or the new file mentions.
    fn changes(&self, files: &[NodeFile]) -> Result<Vec<FileChange>, NodeFileError> {
        let after = certs_d(files.first().map(|file| file.content.as_str()).unwrap_or_default())?;
        let folders = self.before.folders().chain(after.folders()).map(|(folder, _)| folder);
        let folders: BTreeSet<&str> = folders.collect();
        let change = |folder: &str| {
            let change = EndpointsChange::compare(&host_of_folder(folder)?, &self.before, &after);
            change.map(ConfigChange::Endpoints)
        };
        let file = FileChange {
            path: REGISTRIES_YAML.into(),
            foreign: self.foreign,
            changes: folders.into_iter().filter_map(change).collect(),
        };
        Ok(Some(file).filter(|file| !file.changes.is_empty()).into_iter().collect())
    }
}

/// The files that k3s writes for containerd.
fn certs_d(text: &str) -> Result<CertsD, NodeFileError> {
    let path = || PathBuf::from(REGISTRIES_YAML);
    let documents = documents(text).map_err(|why| NodeFileError::Syntax { path: path(), why })?;
    let Some(document) = documents.first() else { return Ok(CertsD::default()) };
    let registries = k3s::Registries::read(&document.value()).map_err(|error| {
        let finding = Finding::new(&rules::k3s::REFUSED, error.at.clone(), error.to_string());
        NodeFileError::Refused { path: path(), finding: Box::new(finding) }
    })?;
    Ok(registries.certs_d())
}
