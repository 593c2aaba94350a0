//! The files that decide a pull, read into the engine's values.

pub(crate) mod configured;
pub(crate) mod current;
pub(crate) mod hosts_toml;
pub(crate) mod manifests;
pub(crate) mod mirror_sets;
pub(crate) mod object_name;
pub(crate) mod providers;
mod pull_secrets;

use std::io;
use std::path::{Path, PathBuf};

use pullwright_engine::credentials::{AuthFile, DocumentError, PullSecret};
use pullwright_engine::kubelet::CredentialProviderConfig;
use pullwright_engine::registries::{ConfError, LoaderEnv, Recorded, RegistriesConf, ShortNameRule};
use pullwright_findings::Finding;
use pullwright_nodefiles::{CrioLoadError, LoadError, NodeRoot, NotUtf8};

use manifests::ManifestFile;
use pull_secrets::PullSecrets;

use crate::diagnostic::{File, FilePlace, Message, Visibility};
use crate::{Failure, args};
use pullwright_documents::{Position, Text, go_toml_document, json_document};

/// Where the kubelet keeps the node's own credentials.
pub(crate) const GLOBAL_AUTH_FILE: &str = "/var/lib/kubelet/config.json";

impl From<Message> for Failure {
    fn from(message: Message) -> Self {
        Self::Input(message)
    }
}

/// A folder of `certs.d`.
pub(crate) struct RegistryFolder {
    pub(crate) name: String,
    /// The path of its `hosts.toml` on the node.
    pub(crate) path: PathBuf,
    /// The text of that file, if there is one, or why it cannot be read.
    pub(crate) text: Result<Option<String>, Message>,
}

/// A node's file system.
pub(crate) struct NodeFiles {
    root: NodeRoot,
}

impl NodeFiles {
    pub(crate) fn open(arguments: &args::NodeArguments) -> Result<Self, Message> {
        Self::at(arguments.root.as_deref())
    }

    /// The file system below a folder, or this machine's.
    pub(crate) fn at(folder: Option<&Path>) -> Result<Self, Message> {
        let root = match folder {
            None => NodeRoot::this_machine(),
            Some(folder) => NodeRoot::at(folder).map_err(|error| {
                Message::error(format!("cannot open {} as a node's file system: {error}", folder.display()))
                    .with_help("--root takes the folder that holds the node's etc and var")
            })?,
        };
        Ok(Self { root })
    }

    /// The path on this machine of a path on the node.
    pub(crate) fn shown(&self, path: &Path) -> PathBuf {
        self.root.shown(path)
    }

    /// The text of a file, or none if there is no such file.
    pub(crate) fn text(&self, path: &Path) -> Result<Option<String>, Message> {
        match self.root.read_text(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(&self.shown(path), &error)),
        }
    }

    /// The folders of containerd's `certs.d`; none if there is no `certs.d`.
    pub(crate) fn certs_d(&self, certs_d: &Path) -> Result<Vec<RegistryFolder>, Message> {
        let folders = match self.root.certs_d(certs_d) {
            Ok(folders) => folders,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(unreadable(&self.shown(certs_d), &error)),
        };
        let folder = |folder: pullwright_nodefiles::RegistryFolder| RegistryFolder {
            text: folder.text.map_err(|error| unreadable(&self.shown(&folder.path), &error)),
            name: folder.name,
            path: folder.path,
        };
        Ok(folders.into_iter().map(folder).collect())
    }

    /// The names in a folder, or none if there is no such folder.
    pub(crate) fn names(&self, path: &Path) -> Result<Option<Vec<String>>, Message> {
        match self.root.list(path) {
            Ok(names) => Ok(Some(names.iter().map(|name| name.to_string_lossy().into_owned()).collect())),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(unreadable(&self.shown(path), &error)),
        }
    }

    /// The registries configuration as the runtime's service finds it: without a user's home and environment.
    pub(crate) fn registries(&self, arguments: &args::NodeArguments) -> Result<RegistriesConf, Message> {
        self.root.registries(&loader(arguments)).map_err(|error| self.refused(error))
    }

    /// How the runtime treats short names.
    pub(crate) fn short_names(&self, arguments: &args::NodeArguments) -> Result<ShortNameRule, Message> {
        if let Some(mode) = arguments.short_name_mode {
            return Ok(mode.into());
        }
        self.root.short_name_rule().map_err(|error| match error {
            CrioLoadError::Read { path, source } => unreadable(&self.shown(&path), &source),
            CrioLoadError::Refused { path, source } => {
                Message::error(format!("CRI-O does not start with {}: {source}", self.shown(&path).display()))
                    .with_help("correct the file, or set --short-name-mode")
            }
        })
    }

    /// The aliases that were recorded on the node.
    pub(crate) fn recorded_aliases(&self, arguments: &args::NodeArguments) -> Recorded {
        self.root.recorded_aliases(&loader(arguments))
    }

    /// The files of that configuration, in order.
    pub(crate) fn registries_texts(
        &self,
        arguments: &args::NodeArguments,
    ) -> Result<Vec<(PathBuf, String)>, Message> {
        self.root.registries_texts(&loader(arguments)).map_err(|error| self.refused(error))
    }

    fn refused(&self, error: LoadError) -> Message {
        match error {
            LoadError::Read { path, source } | LoadError::List { path, source } => {
                unreadable(&self.shown(&path), &source)
            }
            LoadError::Refused { path, text, source } => {
                let (path, text) = (self.shown(&path), Text::new(text));
                refused_registries(
                    &File { path: &path, text: &text, visibility: Visibility::Registries },
                    &source,
                )
            }
        }
    }

    /// The node's own auth file. If the user names one, it must exist.
    pub(crate) fn auth_file(&self, named: Option<&Path>) -> Result<Option<AuthFile>, Message> {
        let path = named.unwrap_or(Path::new(GLOBAL_AUTH_FILE));
        let Some(text) = self.text(path)? else {
            return if named.is_some() { Err(missing(&self.shown(path))) } else { Ok(None) };
        };
        AuthFile::parse(text.as_bytes()).map(Some).map_err(|error| {
            let (shown, text) = (self.shown(path), Text::new(text));
            let file = File { path: &shown, text: &text, visibility: Visibility::AuthFile };
            refused_auth_file(&file, &[error]).remove(0)
        })
    }
}

fn loader(arguments: &args::NodeArguments) -> LoaderEnv {
    LoaderEnv {
        conf: arguments.registries_conf.clone(),
        conf_dir: arguments.registries_conf_dir.clone(),
        ..LoaderEnv::default()
    }
}

/// A `registries.conf` that the runtime refuses.
pub(crate) fn refused_registries(file: &File<'_>, error: &ConfError) -> Message {
    refused_registries_for(file, error, vec![Finding::from(error)]).remove(0)
}

/// The same, with one message for each reason, at its own place.
pub(crate) fn registries_refusals(file: &File<'_>, error: &ConfError) -> Vec<Message> {
    refused_registries_for(file, error, error.findings())
}

fn refused_registries_for(file: &File<'_>, error: &ConfError, findings: Vec<Finding>) -> Vec<Message> {
    match (&error.span, go_toml_document(file.text)) {
        (None, Ok(document)) => {
            let written = file.written(&document);
            findings.iter().map(|finding| written.finding(finding)).collect()
        }
        // A text that is not TOML has no places, only bytes.
        (span, _) => {
            let message = |finding: Finding| Message {
                rule: Some(finding.rule),
                help: Some(finding.remedy().to_owned()),
                ..file.error(span.clone().unwrap_or_default(), &finding.message)
            };
            findings.into_iter().map(message).collect()
        }
    }
}

/// An auth file that the runtime rejects, with one message for each reason.
pub(crate) fn refused_auth_file(file: &File<'_>, errors: &[DocumentError]) -> Vec<Message> {
    let document = json_document(file.text);
    let written = document.as_ref().map(|document| file.written(document));
    let message = |finding: Finding| match &written {
        Ok(written) => written.finding(&finding),
        Err(error) => Message {
            rule: Some(finding.rule),
            help: Some(finding.remedy().to_owned()),
            ..file.unreadable(error)
        },
    };
    errors.iter().map(|error| message(error.finding())).collect()
}

/// The inputs of a pull that come from its namespace and from the kubelet.
pub(crate) struct ClusterInputs {
    pub(crate) secrets: Vec<PullSecret>,
    pub(crate) global: Option<AuthFile>,
    pub(crate) providers: Option<CredentialProviderConfig>,
    /// About objects that were skipped.
    pub(crate) warnings: Vec<Message>,
}

impl ClusterInputs {
    pub(crate) fn read(
        node: &NodeFiles,
        arguments: &args::ClusterArguments,
        manifests: &[ManifestFile],
        namespace: &str,
    ) -> Result<Self, Message> {
        let mut found = PullSecrets::of(namespace);
        for file in manifests {
            found.add(file);
        }
        Ok(Self {
            secrets: found.secrets.into_values().collect(),
            global: node.auth_file(arguments.global_auth_file.as_deref())?,
            providers: providers::read(node, arguments.provider_config.as_deref())?,
            warnings: found.warnings,
        })
    }
}

/// A file or folder that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Message {
    if let Some(NotUtf8 { line, column }) = NotUtf8::of(error) {
        let place = FilePlace {
            path: path.display().to_string(),
            position: Position { line, column },
            excerpt: None,
        };
        let message = Message::error(format!("cannot read {}: not UTF-8 text", path.display()));
        return Message { place: Some(Box::new(place)), ..message }.with_help("save the file as UTF-8");
    }
    let message = Message::error(format!("cannot read {}: {error}", path.display()));
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            message.with_help("run pullwright as a user who can read it, such as root")
        }
        io::ErrorKind::IsADirectory => {
            message.with_help("use --manifests for a folder with manifests, --root for a node's file system")
        }
        _ => message,
    }
}

/// A path that the user named and that does not exist.
pub(crate) fn missing(path: &Path) -> Message {
    Message::error(format!("cannot read {}: there is no such file", path.display()))
}
