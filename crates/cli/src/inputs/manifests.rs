//! Kubernetes objects in YAML and JSON files, and the pull secrets among them.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use pullwright_engine::credentials::{PullSecret, Secret, SecretError};
use pullwright_findings::{DocPath, Finding, Severity, Step, rules};
use pullwright_nodefiles::{NodeRoot, text as text_of_bytes};

use super::unreadable;
use crate::diagnostic::{File, Message, Visibility};
use pullwright_documents::{DocumentNode, Documents, Text, each_document, extended};

/// The namespace of an object without one, as for kubectl.
const DEFAULT_NAMESPACE: &str = "default";

/// A file of manifests.
pub(crate) struct ManifestFile {
    pub(crate) path: PathBuf,
    pub(crate) text: Text,
    /// The documents that can be read.
    pub(crate) documents: Vec<DocumentNode>,
    /// Why the others, or all of them, cannot be read.
    pub(crate) unreadable: Vec<Message>,
}

/// The manifests at a path: a file, `-` for standard input, or the YAML and JSON files below a folder. A file that cannot be
/// read is skipped with a message, unless the user named it and it does not exist.
pub(crate) fn read(path: &Path) -> Result<Vec<ManifestFile>, Message> {
    if path.is_dir() {
        return Ok(below(path)?.into_iter().map(|path| ManifestFile::of(read_text(&path), path)).collect());
    }
    match read_text(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(unreadable(path, &error)),
        read => Ok(vec![ManifestFile::of(read, path.to_owned())]),
    }
}

/// Warnings about files that are neither YAML nor JSON, which are skipped.
pub(crate) fn passed_over(files: &[ManifestFile]) -> Vec<Message> {
    let unreadable = files.iter().flat_map(|file| &file.unreadable).cloned();
    unreadable.map(|message| Message { severity: Severity::Warning, ..message }).collect()
}

/// The text of a file, or of standard input if the path is `-`.
pub(crate) fn text(path: &Path) -> Result<String, Message> {
    read_text(path).map_err(|error| unreadable(path, &error))
}

/// The same, for callers with their own error messages.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes)?;
        text_of_bytes(bytes)
    } else {
        NodeRoot::this_machine().read_text(path)
    }
}

/// The files in the order of their paths. Linked folders are not entered.
fn below(folder: &Path) -> Result<Vec<PathBuf>, Message> {
    let mut files = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        let failed = |error| unreadable(&folder, &error);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                waiting.push(entry.path());
            } else if is_manifest(&entry.path()) && !entry.path().is_dir() {
                files.push(entry.path());
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known))
}

impl ManifestFile {
    fn of(read: io::Result<String>, path: PathBuf) -> Self {
        match read {
            Ok(text) => Self::new(text, path),
            Err(error) => Self::unread(unreadable(&path, &error), path),
        }
    }

    pub(crate) fn new(text: String, path: PathBuf) -> Self {
        let Documents { read, unreadable } = each_document(&text);
        let mut file = Self { path, text: Text::new(text), documents: read, unreadable: Vec::new() };
        let message =
            |error| Message { rule: Some(&rules::manifests::UNREADABLE), ..file.file().unreadable(error) };
        file.unreadable = unreadable.iter().map(message).collect();
        file
    }

    /// A file that exists but cannot be read.
    pub(crate) fn unread(why: Message, path: PathBuf) -> Self {
        let unreadable = vec![Message { rule: Some(&rules::manifests::UNREADABLE), ..why }];
        Self { path, text: Text::new(String::new()), documents: Vec::new(), unreadable }
    }

    pub(crate) fn file(&self) -> File<'_> {
        File { path: &self.path, text: &self.text, visibility: Visibility::Manifests }
    }

    /// Findings about a Secret. The engine speaks of `data`, which is what the API server makes of `stringData`.
    pub(crate) fn secret_findings(&self, secret: &DocumentNode, findings: &[Finding]) -> Vec<Message> {
        let written = self.file().written(secret);
        let names = secret.get("stringData").into_iter().flat_map(DocumentNode::members);
        let written_as_text: HashSet<_> = names.map(|member| member.name.as_str()).collect();
        let message = |finding: &Finding| match finding.at.steps() {
            [Step::Key(section), rest @ ..]
                if section == "data"
                    && matches!(rest, [Step::Key(key), ..] if written_as_text.contains(key.as_str())) =>
            {
                let at = extended(DocPath::root().key("stringData"), rest);
                written.finding(&Finding { at, ..finding.clone() })
            }
            _ => written.finding(finding),
        };
        findings.iter().map(message).collect()
    }
}

/// Why a Secret is not used to pull.
pub(crate) enum NotUsed {
    /// It is not a pull secret.
    NoPullSecret,
    /// It is an invalid pull secret.
    Broken(Finding),
}

/// Reads a pull secret.
pub(crate) fn read_secret(secret: &DocumentNode) -> Result<PullSecret, NotUsed> {
    let read = Secret::from_manifest(&secret.value(), DEFAULT_NAMESPACE);
    read.and_then(|secret| PullSecret::read(&secret)).map_err(|error| match error {
        SecretError::Type { .. } if has_pull_key(secret) => {
            NotUsed::Broken(error.finding().as_warning().with_help(
                "set type: kubernetes.io/dockerconfigjson; a type cannot be changed, so make a new Secret",
            ))
        }
        SecretError::Type { .. } => NotUsed::NoPullSecret,
        error => NotUsed::Broken(error.finding()),
    })
}

fn has_pull_key(secret: &DocumentNode) -> bool {
    let sections = ["data", "stringData"].into_iter().filter_map(|section| secret.get(section));
    let mut keys = sections.flat_map(DocumentNode::members).map(|member| member.name.as_str());
    keys.any(|key| [".dockerconfigjson", ".dockercfg"].contains(&key))
}

/// An object of a document, with the kind that it has there.
#[derive(Clone, Copy)]
pub(crate) struct Object<'d> {
    pub(crate) api_version: &'d str,
    pub(crate) kind: &'d str,
    pub(crate) node: &'d DocumentNode,
}

/// The objects of a document: the document itself, or the items of a list.
pub(crate) fn objects_of(document: &DocumentNode) -> Vec<Object<'_>> {
    let Some(kind) = text_of(document, "kind") else { return Vec::new() };
    let api_version = text_of(document, "apiVersion").unwrap_or_default();
    let list = kind.strip_suffix("List").and_then(|of| Some((of, document.get("items")?)));
    let Some((kind, items)) = list else {
        return vec![Object { api_version, kind, node: document }];
    };
    // Items of a typed list need not repeat what they are.
    let api_version = if kind.is_empty() { "" } else { api_version };
    let object = |node| Object {
        api_version: text_of(node, "apiVersion").unwrap_or(api_version),
        kind: text_of(node, "kind").unwrap_or(kind),
        node,
    };
    items.items().iter().map(object).collect()
}

fn text_of<'d>(node: &'d DocumentNode, name: &str) -> Option<&'d str> {
    node.get(name).and_then(DocumentNode::text)
}

/// The Secrets in a document.
pub(crate) fn secrets_of(document: &DocumentNode) -> Vec<&DocumentNode> {
    let secrets = objects_of(document).into_iter().filter(|object| object.kind == "Secret");
    secrets.map(|secret| secret.node).collect()
}

/// The namespace of an object.
pub(crate) fn namespace_of(object: &DocumentNode) -> &str {
    let namespace = object.get("metadata").and_then(|metadata| metadata.get("namespace"));
    namespace.and_then(DocumentNode::text).unwrap_or(DEFAULT_NAMESPACE)
}
