//! Checks one file according to its kind.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use pullwright_engine::containerd::Daemon;
use pullwright_engine::credentials::{
    AuthFile, Document, DocumentError, Format, LegacyAuthFile, PullSecret, Secret, SecretName, Sensitive,
};
use pullwright_engine::kubelet::lint as kubelet;
use pullwright_engine::registries::ConfFile;
use pullwright_findings::{DocPath, Finding, rules};

use super::FileKind;
use super::report::Checked;
use crate::diagnostic::{File, Message, Visibility};
use crate::inputs::manifests::{ManifestFile, NotUsed, read_secret, secrets_of};
use crate::inputs::providers::json_of;
use crate::inputs::{hosts_toml, mirror_sets, refused_auth_file, registries_refusals};
use pullwright_documents::{DocumentNode, Text, extended, go_toml_document, json_document, toml_document};

/// A file that is checked on its own.
pub(super) fn file(kind: FileKind, path: PathBuf, text: String) -> Checked {
    let text = Text::new(text);
    let file = |visibility| File { path: &path, text: &text, visibility };
    let messages = match kind {
        FileKind::Manifests => {
            let checked = manifests(&[ManifestFile::new(text.to_string(), path.clone())]);
            checked.into_iter().flat_map(|checked| checked.messages).collect()
        }
        FileKind::Registries => registries(&file(Visibility::Registries)),
        FileKind::HostsToml => hosts_toml::check(&file(Visibility::HostsToml)),
        FileKind::ContainerdConfig => containerd_config(&file(Visibility::ContainerdConfig)),
        FileKind::ProviderConfig => provider_config(&file(Visibility::ProviderConfig)),
        FileKind::KubeletConfig => kubelet_config(&file(Visibility::KubeletConfig)),
        FileKind::AuthFile => auth_file(&file(Visibility::AuthFile)),
        FileKind::Dockercfg => dockercfg(&file(Visibility::Dockercfg)),
    };
    Checked::new(path, kind, messages)
}

fn registries(file: &File<'_>) -> Vec<Message> {
    match (ConfFile::parse(file.text), go_toml_document(file.text)) {
        (Ok(conf), Ok(document)) => {
            let written = file.written(&document);
            conf.findings().iter().map(|finding| written.finding(finding)).collect()
        }
        (Err(error), _) => registries_refusals(file, &error),
        (Ok(_), Err(error)) => vec![file.unreadable(&error)],
    }
}

fn containerd_config(file: &File<'_>) -> Vec<Message> {
    match toml_document(file.text) {
        Ok(document) => {
            let written = file.written(&document);
            Daemon::read(file.text).findings.iter().map(|finding| written.finding(finding)).collect()
        }
        Err(error) => vec![file.unreadable(&error)],
    }
}

fn provider_config(file: &File<'_>) -> Vec<Message> {
    let (document, json) = match json_of(file.text) {
        Ok(read) => read,
        Err(error) => {
            return vec![Message { rule: Some(&rules::kubelet::DECODE), ..file.unreadable(&error) }];
        }
    };
    let written = file.written(&document);
    let mut messages = Vec::new();
    // In JSON the engine finds them; on the way from YAML they are lost.
    if json_document(file.text).is_err() {
        for span in document.repeated_names() {
            let message = written.error(span, "this key is already set in its map");
            messages.push(
                Message { rule: Some(&rules::kubelet::DECODE), ..message }.with_help("remove one of the two"),
            );
        }
    }
    messages.extend(kubelet::lint(&json).iter().map(|finding| written.finding(finding)));
    messages
}

fn kubelet_config(file: &File<'_>) -> Vec<Message> {
    let document = match json_of(file.text) {
        Ok((document, _)) => document,
        Err(error) => return vec![file.unreadable(&error)],
    };
    let value = document.value();
    let said = kubelet::Pulls {
        serialize: value["serializeImagePulls"].as_bool(),
        at_once: value["maxParallelImagePulls"].as_i64(),
    };
    let written = file.written(&document);
    kubelet::pulls(said).iter().map(|finding| written.finding(finding)).collect()
}

fn auth_file(file: &File<'_>) -> Vec<Message> {
    match (AuthFile::parse(file.text.as_bytes()), json_document(file.text)) {
        (Ok(auth), Ok(document)) => {
            let written = file.written(&document);
            auth.findings().iter().map(|finding| written.finding(finding)).collect()
        }
        (Err(error), _) => refusals(file, error, Format::Auths),
        (Ok(_), Err(error)) => vec![file.unreadable(&error)],
    }
}

/// Entries of the old format count for the runtime and, from a Secret, for the kubelet.
fn dockercfg(file: &File<'_>) -> Vec<Message> {
    let document = match (LegacyAuthFile::parse(file.text.as_bytes()), json_document(file.text)) {
        (Ok(_), Ok(document)) => document,
        (Err(error), _) => return refusals(file, error, Format::Legacy),
        (Ok(_), Err(error)) => return vec![file.unreadable(&error)],
    };
    let data = BTreeMap::from([(".dockercfg".to_owned(), Sensitive::new(file.text.as_bytes().to_vec()))]);
    let name = SecretName { namespace: String::new(), name: String::new() };
    let secret = Secret { name, kind: "kubernetes.io/dockercfg".to_owned(), data };
    let Ok(secret) = PullSecret::read(&secret) else { return Vec::new() };
    // The engine speaks of a Secret's data.
    let in_file = |finding: &Finding| Finding {
        at: extended(DocPath::root(), finding.at.steps().get(2..).unwrap_or_default()),
        ..finding.clone()
    };
    let written = file.written(&document);
    secret.findings().iter().map(|finding| written.finding(&in_file(finding))).collect()
}

/// Everything for which the runtime refuses the file, not only the first.
fn refusals(file: &File<'_>, error: DocumentError, format: Format) -> Vec<Message> {
    let errors = match Document::parse(file.text.as_bytes(), format) {
        Ok(document) => document.mismatches().iter().cloned().map(DocumentError::from).collect(),
        Err(_) => vec![error],
    };
    refused_auth_file(file, &errors)
}

/// Checks the Secrets, mirror sets and Images in files of manifests, and ignores all other objects and types of Secrets. Mirror
/// sets are checked together, because one may contradict another.
pub(super) fn manifests(files: &[ManifestFile]) -> Vec<Checked> {
    let mut of_files: HashMap<*const ManifestFile, Vec<Message>> = HashMap::new();
    for judged in mirror_sets::judge(mirror_sets::read(files), None).verdicts {
        of_files.entry(judged.object.file).or_default().extend(judged.messages);
    }
    let mut check = |manifests: &ManifestFile| {
        let documents = manifests.documents.iter();
        let secrets = documents.flat_map(secrets_of).flat_map(|secret| of_secret(manifests, secret));
        let mirror_sets = of_files.remove(&std::ptr::from_ref(manifests)).unwrap_or_default();
        let messages = manifests.unreadable.iter().cloned().chain(secrets).chain(mirror_sets);
        Checked::new(manifests.path.clone(), FileKind::Manifests, messages.collect())
    };
    files.iter().map(&mut check).collect()
}

fn of_secret(manifests: &ManifestFile, secret: &DocumentNode) -> Vec<Message> {
    let findings = match read_secret(secret) {
        Ok(pull_secret) => pull_secret.findings().to_vec(),
        Err(NotUsed::Broken(finding)) => vec![finding],
        Err(NotUsed::NoPullSecret) => Vec::new(),
    };
    manifests.secret_findings(secret, &findings)
}
