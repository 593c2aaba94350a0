//! `pullwright lint`: checks the files that decide how images are pulled.

mod check;
mod containerd;
mod kind;
mod report;
mod rules;

use std::path::Path;

use pullwright_engine::kubelet::{ConfigFile, CredentialProviderConfig};
use pullwright_findings::rules::kubelet::DUPLICATE_NAME;
use pullwright_nodeconfig::crio::REGISTRIES_CONF;

pub(crate) use kind::FileKind;

use crate::args::{self, Lint};
use crate::diagnostic::Message;
use crate::inputs::manifests::ManifestFile;
use crate::inputs::providers::{self, json_of};
use crate::inputs::{GLOBAL_AUTH_FILE, NodeFiles, manifests};
use crate::{Failure, RunOutcome, Streams, output};
use report::{Checked, LintReport};

/// Where kubeadm and most distributions keep the kubelet's own configuration.
const KUBELET_CONFIG: &str = "/var/lib/kubelet/config.yaml";

pub(crate) fn run(arguments: &Lint, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
    if arguments.rules {
        rules::write(arguments.output.format, streams.out)?;
        return Ok(RunOutcome::Good);
    }
    let mut files = Vec::new();
    // Objects of all files are judged together.
    let mut manifests = Vec::new();
    for path in &arguments.files {
        match named(path, arguments.kind)? {
            (FileKind::Manifests, Ok(text)) => manifests.push(ManifestFile::new(text, path.clone())),
            (FileKind::Manifests, Err(message)) => {
                manifests.push(ManifestFile::unread(message, path.clone()));
            }
            (kind, Ok(text)) => files.push(check::file(kind, path.clone(), text)),
            (kind, Err(message)) => files.push(Checked::new(path.clone(), kind, vec![message])),
        }
    }
    if let Some(root) = &arguments.root {
        files.extend(node(root)?);
    }
    if let Some(path) = &arguments.manifests {
        manifests.extend(manifests::read(path)?);
    }
    files.extend(check::manifests(&manifests));
    if files.is_empty() {
        return Err(nothing_to_check(arguments).into());
    }
    let report = LintReport { files };
    output::write(arguments.output.format, &report, streams.out, |out| report.text(out))?;
    Ok(if report.is_clean() { RunOutcome::Good } else { RunOutcome::Findings })
}

fn nothing_to_check(arguments: &Lint) -> Message {
    let folders: Vec<_> = arguments.root.iter().chain(&arguments.manifests).collect();
    let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Message::error(format!("nothing to check in {}", folders.join(" and "))).with_help(
        "--root looks for registries.conf, containerd's certs.d, the kubelet's config.json and its credential provider configuration; \
         --manifests for .yaml, .yml and .json files",
    )
}

/// A file from the command line: its kind, and its text or why it cannot be read. A file that does not exist is an error.
fn named(path: &Path, kind: Option<FileKind>) -> Result<(FileKind, Result<String, Message>), Message> {
    let text = match manifests::text(path) {
        Ok(text) => text,
        Err(message) if path == Path::new("-") || path.is_file() => {
            let kind = kind.or_else(|| FileKind::of(path, "")).unwrap_or(FileKind::Manifests);
            return Ok((kind, Err(message)));
        }
        Err(message) => return Err(message),
    };
    let kind = kind.or_else(|| FileKind::of(path, &text)).ok_or_else(|| {
        Message::error(format!("cannot tell what {} is", path.display())).with_help(
            "lint knows registries.conf and its drop-ins, hosts.toml, CredentialProviderConfig, auth files (auth.json, config.json, \
             .dockercfg) and manifests with Secrets and mirror sets; say which it is with --as",
        )
    })?;
    Ok((kind, Ok(text)))
}

/// The files of a node. One that cannot be read hurts only itself.
fn node(root: &Path) -> Result<Vec<Checked>, Message> {
    let node = NodeFiles::at(Some(root))?;
    let mut checked = Vec::new();
    let unread = |path: &str, kind, message| Checked::new(node.shown(Path::new(path)), kind, vec![message]);
    match node.registries_texts(&args::NodeArguments::default()) {
        Ok(files) => {
            for (path, text) in files {
                checked.push(check::file(FileKind::Registries, node.shown(&path), text));
            }
        }
        Err(message) => checked.push(unread(REGISTRIES_CONF, FileKind::Registries, message)),
    }
    checked.extend(containerd::check(&node, !checked.is_empty())?);
    let alone = |path: &str, kind| match node.text(Path::new(path)) {
        Ok(text) => text.map(|text| check::file(kind, node.shown(Path::new(path)), text)),
        Err(message) => Some(unread(path, kind, message)),
    };
    checked.extend(alone(GLOBAL_AUTH_FILE, FileKind::AuthFile));
    match providers::files(&node, None) {
        Ok(Some(files)) => {
            checked.extend(provider_files(&node, files));
            // It matters only where a plugin hands files over.
            checked.extend(alone(KUBELET_CONFIG, FileKind::KubeletConfig));
        }
        Ok(None) => {}
        Err(message) => checked.push(unread(providers::USUAL_PLACES[0], FileKind::ProviderConfig, message)),
    }
    Ok(checked)
}

/// The files of the kubelet's configuration, each alone and then together: a name may be used once in all of them.
fn provider_files(node: &NodeFiles, files: Vec<providers::ProviderFile>) -> Vec<Checked> {
    let texts: Vec<_> = files.iter().map(|file| json_of(&file.text).map(|(_, json)| json)).collect();
    let named: Vec<_> = files.iter().map(|file| file.path.display().to_string()).collect();
    let mut checked: Vec<_> = files
        .into_iter()
        .map(|file| check::file(FileKind::ProviderConfig, node.shown(&file.path), file.text))
        .collect();
    if checked.len() > 1 && checked.iter().all(|file| !file.has_errors()) {
        let configs = named.iter().zip(&texts).filter_map(|(path, json)| {
            let json = json.as_deref().ok()?;
            Some(ConfigFile { path, json })
        });
        let together = CredentialProviderConfig::load(&configs.collect::<Vec<_>>());
        if let (Err(error), Some(last)) = (together, checked.last_mut()) {
            let message = Message { rule: Some(&DUPLICATE_NAME), ..Message::error(error.to_string()) };
            last.messages.push(message.with_help("give each provider one file"));
        }
    }
    checked
}
