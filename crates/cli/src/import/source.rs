//! The files to import, each with the findings about it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pullwright_documents::{DocumentNode, Text, yaml_documents};
use pullwright_engine::containerd::k3s::Registries;
use pullwright_engine::containerd::{CertsD, Collected, HOSTS_TOML, folder_name, import};
use pullwright_findings::{Finding, rules};
use pullwright_nodefiles::{NodeRoot, RegistryFolder};
use serde_json::Value;

use super::ImportSource;
use crate::diagnostic::{File, Message, Visibility};
use crate::inputs::{hosts_toml, manifests, missing, unreadable};

/// What was read from a path.
pub(super) struct ImportedFiles {
    pub(super) collected: Collected,
    /// The files by number; `None` for a folder without a file.
    pub(super) files: Vec<Option<ImportedFile>>,
    /// About files that were skipped.
    pub(super) messages: Vec<Message>,
}

/// A file that findings are about.
pub(super) enum ImportedFile {
    HostsToml { path: PathBuf, text: Text },
    K3s { path: PathBuf, text: Text, document: Option<DocumentNode> },
}

impl ImportedFile {
    /// The findings as messages.
    pub(super) fn messages<'f>(&self, findings: impl Iterator<Item = &'f Finding>) -> Vec<Message> {
        match self {
            Self::HostsToml { path, text } => hosts_toml::messages(&hosts_toml::file(path, text), findings),
            Self::K3s { path, text, document: Some(document) } => {
                let file = File { path, text, visibility: Visibility::K3sRegistries };
                let written = file.written(document);
                findings.map(|finding| written.finding(finding)).collect()
            }
            Self::K3s { document: None, .. } => findings.map(Message::from).collect(),
        }
    }
}

pub(super) fn read(
    path: &Path,
    from: Option<ImportSource>,
    registry: Option<&str>,
) -> Result<ImportedFiles, Message> {
    if path != Path::new("-") && !path.exists() {
        return Err(missing(path));
    }
    if path.is_dir() {
        return match from {
            Some(ImportSource::K3s) => Err(Message::error(format!("{} is a folder", path.display()))
                .with_help("name registries.yaml itself: /etc/rancher/k3s/registries.yaml")),
            _ if path.join(HOSTS_TOML).is_file() => hosts_file(&path.join(HOSTS_TOML), registry),
            _ => certs_d(path),
        };
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match (from, extension) {
        (Some(ImportSource::Containerd), _) | (None, "toml") => hosts_file(path, registry),
        (Some(ImportSource::K3s), _) | (None, "yaml" | "yml") => registries_yaml(path),
        (None, _) if registry.is_some() => hosts_file(path, registry),
        (None, _) => Err(Message::error(format!("cannot tell which runtime reads {}", path.display()))
            .with_help("use --from containerd or --from k3s")),
    }
}

/// The folders of registries in `certs.d`. A file that cannot be read is skipped with a message.
fn certs_d(folder: &Path) -> Result<ImportedFiles, Message> {
    let folders = NodeRoot::this_machine().certs_d(folder).map_err(|error| unreadable(folder, &error))?;
    let mut certs = CertsD::default();
    let mut files = BTreeMap::new();
    let mut messages = Vec::new();
    for RegistryFolder { name, path, text } in folders {
        match text {
            Ok(text) => {
                certs.insert(&name, text.as_deref());
                let file = text.map(|text| ImportedFile::HostsToml { path, text: Text::new(text) });
                files.extend(file.map(|file| (name, file)));
            }
            Err(error) => messages.push(unreadable(&path, &error)),
        }
    }
    if files.is_empty() && messages.is_empty() {
        return Err(Message::error(format!("no {HOSTS_TOML} in the folders of {}", folder.display()))
            .with_help("name containerd's certs.d, which has a folder for each registry"));
    }
    Ok(ImportedFiles { messages, ..imported(&certs, files) })
}

/// One file, of the registry that its folder is named after.
fn hosts_file(path: &Path, registry: Option<&str>) -> Result<ImportedFiles, Message> {
    let folder = match registry {
        Some(registry) => folder_name(registry),
        None => folder_of(path)?,
    };
    let text = manifests::text(path)?;
    let mut certs = CertsD::default();
    certs.insert(&folder, Some(&text));
    let file = ImportedFile::HostsToml { path: path.to_owned(), text: Text::new(text) };
    Ok(imported(&certs, BTreeMap::from([(folder, file)])))
}

fn folder_of(path: &Path) -> Result<String, Message> {
    let unknown = || {
        Message::error(format!("cannot tell which registry {} is for", path.display()))
            .with_help("name the registry with --registry")
    };
    if path == Path::new("-") {
        return Err(unknown());
    }
    let whole = fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
    whole.parent().map(name_of).filter(|name| !name.is_empty()).ok_or_else(unknown)
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn imported(certs: &CertsD, mut files: BTreeMap<String, ImportedFile>) -> ImportedFiles {
    let collected = import(certs);
    let files = collected.files().iter().map(|folder| files.remove(folder)).collect();
    ImportedFiles { collected, files, messages: Vec::new() }
}

fn registries_yaml(path: &Path) -> Result<ImportedFiles, Message> {
    let text = Text::new(manifests::text(path)?);
    let file = File { path, text: &text, visibility: Visibility::K3sRegistries };
    let documents = yaml_documents(&text).map_err(|error| file.unreadable(&error))?;
    let document = documents.into_iter().next();
    let value = document.as_ref().map_or(Value::Null, DocumentNode::value);
    let file = ImportedFile::K3s { path: path.to_owned(), text, document };
    let registries = Registries::read(&value).map_err(|error| {
        let finding = Finding::new(&rules::k3s::REFUSED, error.at.clone(), error.to_string());
        let message = file.messages([&finding].into_iter()).pop();
        message.unwrap_or_else(|| Message::from(&finding))
    })?;
    Ok(ImportedFiles { collected: registries.import(), files: vec![Some(file)], messages: Vec::new() })
}
