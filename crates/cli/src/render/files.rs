//! The files of each runtime: where they belong, and what they cannot say.

use std::path::{Path, PathBuf};

use pullwright_engine::containerd;
use pullwright_findings::Severity;
use pullwright_engine::mirrors::{Merged, Payload};
use pullwright_engine::registries::{ConfFile, RegistriesConf};
use serde::Serialize;

use super::Runtime;
use crate::diagnostic::{File, Message, Visibility};
use crate::inputs::certs_d::CERTS_D;
use crate::inputs::{manifests, refused_registries};
use pullwright_documents::Text;

/// Where CRI-O looks for its main file.
pub(crate) const REGISTRIES_CONF: &str = "/etc/containers/registries.conf";
/// The drop-in in which the Machine Config Operator keeps the search registries of Image cluster.
pub(crate) const SEARCH_DROP_IN: &str = "/etc/containers/registries.conf.d/01-image-searchRegistries.conf";
/// Where CRI-O looks for which images it takes at all.
pub(super) const POLICY_JSON: &str = "/etc/containers/policy.json";

/// Where k3s looks; RKE2 has it in a folder of its own.
pub(crate) const REGISTRIES_YAML: &str = "/etc/rancher/k3s/registries.yaml";

/// A file on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NodeFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The files for a runtime.
#[derive(Debug)]
pub(crate) struct Rendering {
    pub(crate) runtime: Runtime,
    pub(crate) files: Vec<NodeFile>,
    /// What the runtime cannot be told.
    pub(crate) unsaid: Vec<Message>,
}

impl Rendering {
    /// What the objects of a cluster say, for CRI-O.
    ///
    /// The search registries of Image cluster get a file of their own, as the Machine Config Operator has it, so that those of
    /// the template stay readable beside them.
    pub(crate) fn for_crio(merged: &Merged, base: Option<&RegistriesConf>) -> Self {
        let kept = base.and_then(RegistriesConf::unqualified_search_registries).map(<[String]>::to_vec);
        let main = Merged { search: kept, ..merged.clone() };
        let mut files = vec![NodeFile { path: REGISTRIES_CONF.into(), text: main.render() }];
        if merged.search.is_some() {
            let search = Merged { registries: Vec::new(), ..merged.clone() };
            files.push(NodeFile { path: SEARCH_DROP_IN.into(), text: search.render() });
        }
        Self { runtime: Runtime::Crio, files, unsaid: Vec::new() }
    }

    /// What a configuration says, for any runtime.
    pub(crate) fn of(runtime: Runtime, conf: &RegistriesConf, hosts: &[String]) -> Self {
        let one = |path: &str, text| vec![NodeFile { path: path.into(), text }];
        let (files, findings) = match runtime {
            Runtime::Crio => (one(REGISTRIES_CONF, conf.render()), Vec::new()),
            Runtime::Containerd => {
                let rendered = containerd::render(conf, hosts);
                let files = rendered.files.into_iter();
                let file = |(path, text)| NodeFile { path: Path::new(CERTS_D).join::<String>(path), text };
                (files.map(file).collect(), rendered.findings)
            }
            Runtime::K3s => {
                let rendered = containerd::k3s::render(conf, hosts);
                (one(REGISTRIES_YAML, rendered.text), rendered.findings)
            }
        };
        Self { runtime, files, unsaid: findings.iter().map(Message::from).collect() }
    }

    /// The folder of the node that all files are below.
    pub(super) fn folder(&self) -> &'static Path {
        Path::new(match self.runtime {
            Runtime::Crio => "/etc/containers",
            Runtime::Containerd => CERTS_D,
            Runtime::K3s => "/etc/rancher/k3s",
        })
    }

    /// The text, if the runtime reads a single file, which then needs no path beside it.
    pub(super) fn only(&self) -> Option<&str> {
        match self.files.as_slice() {
            [only] if self.runtime != Runtime::Containerd => Some(&only.text),
            _ => None,
        }
    }

    /// Whether a text was written by a rendering for containerd or k3s, and so holds nothing of anybody else. What is written
    /// for CRI-O is in the shape of another program and has no mark of ours.
    pub(crate) fn is_ours(text: &str) -> bool {
        text.lines().next() == Some(containerd::HEADER)
    }
}

/// The template that `--base` names.
pub(super) fn base(path: &Path) -> Result<RegistriesConf, Message> {
    let text = Text::new(manifests::text(path)?);
    let file = File { path, text: &text, visibility: Visibility::Registries };
    let conf = ConfFile::parse(&text).map_err(|error| refused_registries(&file, &error))?;
    Ok(RegistriesConf::merge([(path.to_owned(), conf)]))
}

/// The release image that `--release-image` names.
pub(super) fn payload(image: &str) -> Result<Payload, Message> {
    Payload::parse(image).map_err(|error| {
        Message::error(error.to_string())
            .with_help("name it in full and by digest, as .status.desired.image of ClusterVersion does")
    })
}

/// The objects replace the file, as they do where the Machine Config Operator writes it.
pub(super) fn not_kept(base: &RegistriesConf) -> Option<Message> {
    let entries = base.registries().len();
    (entries > 0).then(|| {
        let text = format!("of --base only the search registries are kept, not its {entries} entries");
        Message { severity: Severity::Warning, ..Message::error(text) }
            .with_help("write mirror sets for them")
    })
}
