//! The files to import, each with what is to be said about it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pullwright_documents::{Node, Text, yaml_documents};
use pullwright_engine::containerd::k3s::Registries;
use pullwright_engine::containerd::{CertsD, Imported, folder_name, import};
use pullwright_engine::finding::Finding;
use serde_json::Value;

use super::From;
use crate::diagnostic::{File, Message, Visibility};
use crate::inputs::{hosts_toml, manifests, unreadable};

const HOSTS_TOML: &str = "hosts.toml";

/// What a path became.
pub(super) struct Read {
    pub(super) imported: Imported,
    pub(super) messages: Vec<Message>,
}

pub(super) fn read(path: &Path, from: Option<From>, registry: Option<&str>) -> Result<Read, Message> {
    if path.is_dir() {
        return match from {
            Some(From::K3s) => Err(Message::error(format!("{} is a folder", path.display()))
                .with_help("name registries.yaml itself: /etc/rancher/k3s/registries.yaml")),
            _ if path.join(HOSTS_TOML).is_file() => hosts_file(&path.join(HOSTS_TOML), registry),
            _ => certs_d(path),
        };
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match (from, extension) {
        (Some(From::Containerd), _) | (None, "toml") => hosts_file(path, registry),
        (Some(From::K3s), _) | (None, "yaml" | "yml") => registries_yaml(path),
        (None, _) if registry.is_some() => hosts_file(path, registry),
        (None, _) => Err(Message::error(format!("cannot tell whose file {} is", path.display()))
            .with_help("say it with --from containerd or --from k3s")),
    }
}

/// The folders of registries in `certs.d`.
fn certs_d(folder: &Path) -> Result<Read, Message> {
    let failed = |error: io::Error| unreadable(folder, &error);
    let mut certs = CertsD::default();
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if !path.is_dir() {
            continue;
        }
        let name = name_of(&path);
        let file = path.join(HOSTS_TOML);
        let text = if file.is_file() { Some(manifests::text(&file)?) } else { None };
        certs.insert(&name, text.as_deref());
        files.extend(text.map(|text| (name, (file, text))));
    }
    if files.is_empty() {
        return Err(Message::error(format!("no {HOSTS_TOML} in the folders of {}", folder.display()))
            .with_help("name containerd's certs.d, which has a folder for each registry"));
    }
    Ok(imported(&certs, &files))
}

/// One file, of the registry that its folder is named after.
fn hosts_file(path: &Path, registry: Option<&str>) -> Result<Read, Message> {
    let folder = match registry {
        Some(registry) => folder_name(registry),
        None => folder_of(path)?,
    };
    let text = manifests::text(path)?;
    let mut certs = CertsD::default();
    certs.insert(&folder, Some(&text));
    Ok(imported(&certs, &BTreeMap::from([(folder, (path.to_owned(), text))])))
}

fn folder_of(path: &Path) -> Result<String, Message> {
    let unknown = || {
        Message::error(format!("cannot tell which registry {} is for", path.display()))
            .with_help("say it with --registry")
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

fn imported(certs: &CertsD, files: &BTreeMap<String, (PathBuf, String)>) -> Read {
    let imported = import(certs);
    // Those of a folder come one after the other.
    let of_folders = imported.findings.chunk_by(|(one, _), (other, _)| one == other);
    let messages = of_folders.filter_map(|findings| {
        let (path, text) = files.get(&findings.first()?.0)?;
        let text = Text::new(text.clone());
        let findings = findings.iter().map(|(_, finding)| finding);
        Some(hosts_toml::messages(&hosts_toml::file(path, &text), findings))
    });
    Read { messages: messages.flatten().collect(), imported }
}

fn registries_yaml(path: &Path) -> Result<Read, Message> {
    let text = Text::new(manifests::text(path)?);
    let file = File { path, text: &text, visibility: Visibility::K3sRegistries };
    let documents = yaml_documents(&text).map_err(|error| file.unreadable(&error))?;
    let document = documents.first();
    let value = document.map_or(Value::Null, Node::value);
    let written = document.map(|document| file.written(document));
    let message = |finding: &Finding| match &written {
        Some(written) => written.finding(finding),
        None => Message::from(finding),
    };
    let registries = Registries::read(&value)
        .map_err(|error| message(&Finding::error("k3s/refused", error.at.clone(), error.to_string())))?;
    let imported = registries.import();
    let messages = imported.findings.iter().map(|(_, finding)| message(finding)).collect();
    Ok(Read { imported, messages })
}
