//! The kubelet's credential provider configuration: one file, or the files of a folder.

use std::path::{Path, PathBuf};

use pullwright_engine::kubelet::config::{ConfigError, config_files};
use pullwright_engine::kubelet::{ConfigFile, CredentialProviderConfig, lint};
use pullwright_findings::Severity;

use super::{NodeFiles, missing};
use crate::diagnostic::{File, Message, Visibility};
use pullwright_documents::{DocumentNode, Text, Unreadable, documents, json_document};

/// Where to look if no path is given; the first that exists counts.
pub(crate) const USUAL_PLACES: [&str; 2] =
    ["/etc/kubernetes/credential-provider-config.yaml", "/etc/kubernetes/credential-providers"];

/// One file with its text.
pub(crate) struct ProviderFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The files at a path, or at the usual places; `None` if there are none.
pub(crate) fn files(node: &NodeFiles, named: Option<&Path>) -> Result<Option<Vec<ProviderFile>>, Message> {
    if let Some(path) = named {
        return files_at(node, path)?.map(Some).ok_or_else(|| missing(&node.shown(path)));
    }
    for path in USUAL_PLACES {
        if let Some(files) = files_at(node, Path::new(path))? {
            return Ok(Some(files));
        }
    }
    Ok(None)
}

fn files_at(node: &NodeFiles, path: &Path) -> Result<Option<Vec<ProviderFile>>, Message> {
    let Some(names) = node.names(path)? else {
        let text = node.text(path)?;
        return Ok(text.map(|text| vec![ProviderFile { path: path.to_owned(), text }]));
    };
    let mut files = Vec::new();
    for name in config_files(names.iter().map(String::as_str)) {
        let path = path.join(name);
        // It may be gone between the listing and now.
        files.extend(node.text(&path)?.map(|text| ProviderFile { path, text }));
    }
    if files.is_empty() {
        let shown = node.shown(path).display().to_string();
        return Err(Message::error(ConfigError::NoFiles(shown).to_string())
            .with_help("the kubelet reads .yaml, .yml and .json files there"));
    }
    Ok(Some(files))
}

/// The configuration, if there is any.
pub(crate) fn read(
    node: &NodeFiles,
    named: Option<&Path>,
) -> Result<Option<CredentialProviderConfig>, Message> {
    let Some(files) = files(node, named)? else { return Ok(None) };
    let mut texts = Vec::new();
    for ProviderFile { path, text } in &files {
        let shown = node.shown(path);
        let text = Text::new(text.clone());
        let file = File { path: &shown, text: &text, visibility: Visibility::ProviderConfig };
        let (document, json) = json_of(&text).map_err(|error| file.unreadable(&error))?;
        texts.push((shown.display().to_string(), json));
        // The kubelet's own words do not say where; the same rule checked alone does.
        let errors = lint::lint(&texts[texts.len() - 1].1);
        let mut errors = errors.iter().filter(|finding| finding.severity == Severity::Error);
        if let Some(finding) = errors.next() {
            return Err(file
                .written(&document)
                .finding(finding)
                .with_help("the kubelet does not start with this file"));
        }
    }
    let files: Vec<_> = texts.iter().map(|(path, json)| ConfigFile { path, json }).collect();
    CredentialProviderConfig::load(&files).map(Some).map_err(|error| Message::error(error.to_string()))
}

/// The first document, and its JSON as the kubelet makes it: JSON as it is, YAML with its names in order.
pub(crate) fn json_of(text: &str) -> Result<(DocumentNode, Vec<u8>), Unreadable> {
    if let Ok(document) = json_document(text) {
        return Ok((document, text.as_bytes().to_vec()));
    }
    let empty = || Unreadable { span: 0..0, message: "the file is empty".to_owned() };
    let document = documents(text)?.into_iter().next().ok_or_else(empty)?;
    let json = document.value().to_string().into_bytes();
    Ok((document, json))
}
