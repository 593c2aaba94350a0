//! The node's files, read for one pull: the auth file is taken and is gone before the pull begins.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pullwright_engine::containerd::{CertsD, DEFAULT_FOLDER, Endpoint, folder_name};
use pullwright_engine::credentials::{AuthFile, DocumentError};
use pullwright_engine::kubelet::Namespace;
use pullwright_engine::reference::{Dialect, Reference};
use pullwright_engine::registries::{LoaderEnv, RegistriesConf};
use pullwright_handover::{AuthFileName, AuthFolder, ClaimError};
use pullwright_nodefiles::{LoadError, NodeRoot};

use crate::auth_config::AuthConfig;
use crate::decide::{Calls, Inputs, PassedOver, decide};
use crate::metrics::{Claimed, Metrics};
use crate::options::Options;
use crate::report::{Level, report};
use crate::request::PullRequest;

/// What is to be done about a pull.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// Nothing of ours.
    PassThrough,
    /// These calls.
    Calls(Calls),
}

/// Why a pull cannot begin although there are credentials for it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// There is a file and it cannot be taken.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// The file is no auth file; CRI-O refuses too.
    #[error("the auth file of namespace {namespace} for {repository} cannot be used: {source}")]
    File { namespace: String, repository: String, source: DocumentError },
    /// The node's `registries.conf` is broken; CRI-O refuses too.
    #[error(transparent)]
    Registries(#[from] LoadError),
}

/// The files of this machine.
#[derive(Debug)]
pub(crate) struct Node {
    options: Options,
    loader: LoaderEnv,
    metrics: Arc<Metrics>,
}

impl Node {
    pub(crate) fn new(
        options: Options,
        var: &dyn Fn(&str) -> Option<OsString>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let loader = options.loader(var);
        Self { options, loader, metrics }
    }

    /// Takes the auth file of the pull, and decides.
    ///
    /// # Errors
    /// If there is a file and it is of no use.
    pub(crate) fn prepare(&self, request: &PullRequest) -> Result<Prepared, Refused> {
        // What is not a reference, containerd refuses in its own words.
        let Ok(reference) = Reference::parse(Dialect::Kubelet, &request.image) else {
            return Ok(Prepared::PassThrough);
        };
        let kubelet = request.auth();
        let credentials = match self.claim(request, &reference)? {
            Some(file) => Some((file, self.registries()?)),
            // The Pod's own `imagePullSecrets` come before the node's, as with CRI-O.
            None if kubelet.as_deref().is_some_and(AuthConfig::shows) => None,
            None => self.nodes_own(),
        };
        let Some((file, registries)) = credentials else { return Ok(Prepared::PassThrough) };
        let endpoints = endpoints(&self.options.certs_d, reference.domain());
        let calls = decide(&Inputs {
            reference: &reference.or_latest(),
            registries: &registries,
            endpoints: &endpoints,
            file: &file,
            kubelet: kubelet.as_deref(),
        });
        if calls.calls.is_empty() {
            for PassedOver { repository, why } in &calls.passed_over {
                report(Level::Warning, format_args!("{request}: none of ours for {repository:?}: {why}"));
            }
            return Ok(Prepared::PassThrough);
        }
        Ok(Prepared::Calls(calls))
    }

    /// The auth file of the Pod's namespace for this repository. It is read and removed at once: while the pull runs the
    /// credential is in memory only, so there is no way out of the pull on which it stays.
    fn claim(&self, request: &PullRequest, reference: &Reference) -> Result<Option<AuthFile>, Refused> {
        let Ok(namespace) = request.namespace.parse::<Namespace>() else {
            return Ok(None);
        };
        let Ok(name) = AuthFileName::new(&namespace, reference.name()) else {
            return Ok(None);
        };
        let folder = match AuthFolder::open(&self.options.auth_dir) {
            Ok(folder) => folder,
            Err(error) => {
                // Images that need no credential must still be pulled, as with CRI-O.
                report(Level::Error, format_args!("pulling without auth files: {error}"));
                self.metrics.claimed(Claimed::Failed);
                return Ok(None);
            }
        };
        let text = folder.claim(&name).and_then(|claim| {
            let Some(claim) = claim else { return Ok(None) };
            let text = claim.read();
            claim.release()?;
            text.map(Some)
        });
        let file = match text {
            Ok(None) => {
                self.metrics.claimed(Claimed::Absent);
                return Ok(None);
            }
            Ok(Some(text)) => AuthFile::parse(&text).map_err(|source| Refused::File {
                namespace: namespace.to_string(),
                repository: reference.name().to_owned(),
                source,
            }),
            Err(error) => Err(error.into()),
        };
        self.metrics.claimed(if file.is_ok() { Claimed::Taken } else { Claimed::Failed });
        file.map(Some)
    }

    /// The node's own credentials, for pulls without an auth file. What is wrong with them stops no pull.
    fn nodes_own(&self) -> Option<(AuthFile, RegistriesConf)> {
        let path = self.options.global_auth_file.as_deref()?;
        let file = match NodeRoot::this_machine().read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            read => read.map_err(|error| error.to_string()),
        };
        let file = file.and_then(|text| AuthFile::parse(&text).map_err(|error| error.to_string()));
        let both = file.and_then(|file| Ok((file, self.registries().map_err(|error| error.to_string())?)));
        both.inspect_err(|error| {
            let path = path.display();
            report(Level::Error, format_args!("pulling without the global auth file {path}: {error}"));
        })
        .ok()
    }

    fn registries(&self) -> Result<RegistriesConf, LoadError> {
        NodeRoot::this_machine().registries(&self.loader)
    }
}

/// Whom containerd asks for images of `host`: the first folder that has an entry for it counts, as in its `config_path`.
pub(crate) fn endpoints(certs_d: &[PathBuf], host: &str) -> Vec<Endpoint> {
    let found = certs_d.iter().map(|root| entry(root, host)).find(|found| found.folder_of(host).is_some());
    found.unwrap_or_default().endpoints(host)
}

/// Only what counts for `host`.
fn entry(root: &Path, host: &str) -> CertsD {
    let mut found = CertsD::default();
    for name in [folder_name(host), host.to_owned(), DEFAULT_FOLDER.to_owned()] {
        let folder = root.join(&name);
        if folder.exists() {
            let text = NodeRoot::this_machine().read_text(&folder.join("hosts.toml")).ok();
            found.insert(name, text.as_deref());
            break;
        }
    }
    found
}
