//! Reads the node's files for one pull. The auth file is taken and removed before the pull begins.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pullwright_engine::containerd::{CertsD, ContainerdEndpoint};
use pullwright_engine::credentials::{AuthFile, DocumentError};
use pullwright_engine::kubelet::Namespace;
use pullwright_engine::plan::any_pull;
use pullwright_engine::reference::{Dialect, Reference};
use pullwright_engine::registries::{LoaderEnv, RegistriesConf};
use pullwright_handover::{AuthFileName, AuthFolder, ClaimError, FolderError, Ticket};
use pullwright_nodefiles::{LoadError, NodeRoot, RegistryFolder};

use crate::auth_config::{AuthConfig, NotATicket};
use crate::decide::{CallInputs, Calls, SkippedSource, decide, with_kubelets};
use crate::metrics::{Claimed, Metrics};
use crate::options::Options;
use crate::report::{Level, report};
use crate::request::PullRequest;

/// How to handle a pull.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// Pass the call on unchanged.
    PassThrough,
    /// Pass the call on without a credential: the kubelet sent a ticket, and its file has nothing for this pull.
    WithoutAuth,
    /// Make these calls.
    Calls(Calls),
}

/// Why a pull cannot begin even though there are credentials for it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// The auth file exists but cannot be taken.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// There is a ticket, but the folder with its file cannot be used.
    #[error(transparent)]
    Folder(FolderError),
    /// The file is not an auth file. CRI-O refuses it too.
    #[error("the auth file of namespace {namespace} for {repository} cannot be used: {source}")]
    File { namespace: String, repository: String, source: DocumentError },
    /// The ticket's file is no longer there.
    #[error(
        "the credentials for this pull are gone: the file for {repository} in namespace {namespace} was used by this ticket \
         before, or waited too long for the pull to begin (--remove-tickets-after of crio-credential-provider); the kubelet \
         will ask for new ones"
    )]
    TicketGone { namespace: String, repository: String },
    /// The password is not a ticket.
    #[error(transparent)]
    NotATicket(#[from] NotATicket),
    /// The plugin is configured for CRI-O.
    #[error(
        "crio-credential-provider wrote an auth file for {repository} in namespace {namespace} without a ticket, so nobody \
         knows which Pod it is for: add --deliver ticket to its args in the kubelet's credential provider configuration"
    )]
    FileWithoutTicket { namespace: String, repository: String },
    /// The node's `registries.conf` is broken. CRI-O refuses it too.
    #[error(transparent)]
    Registries(#[from] LoadError),
}

/// The configuration files of this machine.
#[derive(Debug)]
pub(crate) struct NodeConfiguration {
    options: Options,
    loader: LoaderEnv,
    metrics: Arc<Metrics>,
}

impl NodeConfiguration {
    pub(crate) fn new(
        options: Options,
        var: &dyn Fn(&str) -> Option<OsString>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let loader = options.loader(var);
        Self { options, loader, metrics }
    }

    /// Takes the auth file of the pull and decides which calls to make.
    ///
    /// # Errors
    /// If the auth file cannot be used, or if there is a ticket without a file.
    pub(crate) fn prepare(&self, request: &PullRequest) -> Result<Prepared, Refused> {
        let auth = request.auth();
        let ticket = auth.as_deref().and_then(AuthConfig::ticket).transpose()?;
        // Let containerd refuse an invalid reference in its own words.
        let Ok(reference) = Reference::parse(Dialect::Kubelet, &request.image) else {
            return Ok(if ticket.is_some() { Prepared::WithoutAuth } else { Prepared::PassThrough });
        };
        let file = self.claim(request, &reference, ticket.as_ref())?;
        let Endpoints { endpoints, unreadable } = endpoints(&self.options.certs_d, reference.domain());
        if let Some(error) = unreadable {
            report(Level::Error, format_args!("{request}: {error}; it counts as if it were not there"));
        }
        // A ticket is only for us: no registry ever sees it.
        let kubelet = auth.as_deref().filter(|auth| ticket.is_none() && AuthConfig::shows(auth));
        let pulled = reference.clone().or_latest();
        let of_file = |(file, registries): (AuthFile, RegistriesConf)| {
            let (registries, file) = (&registries, &file);
            decide(&CallInputs { reference: &pulled, registries, endpoints: &endpoints, file })
        };
        let calls = match (file, kubelet) {
            (Some(file), _) => of_file((file, self.registries()?)),
            // As in CRI-O, the Pod's own `imagePullSecrets` come before the node's credentials.
            (None, Some(auth)) if self.has_mirrors(request, &reference) => {
                with_kubelets(&reference, &endpoints, auth)
            }
            (None, Some(_)) => return Ok(Prepared::PassThrough),
            (None, None) => self.nodes_own().map(of_file).unwrap_or_default(),
        };
        if calls.calls.is_empty() {
            for SkippedSource { repository, why } in &calls.passed_over {
                report(Level::Warning, format_args!("{request}: none of ours for {repository:?}: {why}"));
            }
            return Ok(if ticket.is_some() { Prepared::WithoutAuth } else { Prepared::PassThrough });
        }
        Ok(Prepared::Calls(calls))
    }

    /// Whether the image may be pulled from a registry other than the one in its name. Such a registry must not see a
    /// credential that is for the named one.
    fn has_mirrors(&self, request: &PullRequest, reference: &Reference) -> bool {
        match self.registries() {
            Ok(registries) => any_pull(&registries, reference).elsewhere,
            Err(error) => {
                report(Level::Error, format_args!("{request}: passed on as it is: {error}"));
                false
            }
        }
    }

    /// Takes the auth file of a pull that will not begin, so that the file does not stay.
    pub(crate) fn discard(&self, request: &PullRequest) {
        let ticket = request.auth().as_deref().and_then(AuthConfig::ticket);
        let reference = Reference::parse(Dialect::Kubelet, &request.image);
        if let (Some(Ok(ticket)), Ok(reference)) = (ticket, reference)
            && let Err(error) = self.claim(request, &reference, Some(&ticket))
        {
            report(Level::Warning, format_args!("{request}: not begun: {error}"));
        }
    }

    /// Takes the ticket's auth file for the Pod's namespace and this repository. The file is read and removed at once:
    /// during the pull the credential is only in memory, so it cannot stay behind however the pull ends.
    ///
    /// A pull without a ticket gets no file. If there is a file all the same, the plugin is configured for CRI-O.
    /// Ignoring that would leave people with nothing but a registry's "unauthorized".
    fn claim(
        &self,
        request: &PullRequest,
        reference: &Reference,
        ticket: Option<&Ticket>,
    ) -> Result<Option<AuthFile>, Refused> {
        let (namespace, repository) = (request.namespace.clone(), reference.name().to_owned());
        let name = namespace.parse::<Namespace>().ok();
        let name = name.and_then(|namespace| AuthFileName::new(&namespace, &repository).ok());
        let taken = match name {
            None => Ok(None),
            Some(name) => self.take(&name, ticket),
        };
        let file = match (taken, ticket) {
            (Ok(None), None) => {
                self.metrics.claimed(Claimed::Absent);
                return Ok(None);
            }
            (Ok(None), Some(_)) => Err(Refused::TicketGone { namespace, repository }),
            (Ok(Some(_)), None) => Err(Refused::FileWithoutTicket { namespace, repository }),
            (Ok(Some(text)), Some(_)) => {
                AuthFile::parse(&text).map_err(|source| Refused::File { namespace, repository, source })
            }
            (Err(refused), _) => Err(refused),
        };
        self.metrics.claimed(if file.is_ok() { Claimed::Taken } else { Claimed::Failed });
        file.map(Some)
    }

    /// Takes a file, reads it and removes it.
    fn take(&self, name: &AuthFileName, ticket: Option<&Ticket>) -> Result<Option<Vec<u8>>, Refused> {
        let folder = match AuthFolder::open(&self.options.auth_dir) {
            Ok(folder) => folder,
            // As in CRI-O, images that need no credential must still be pulled.
            Err(error) if ticket.is_none() => {
                report(Level::Error, format_args!("pulling without auth files: {error}"));
                return Ok(None);
            }
            Err(error) => return Err(Refused::Folder(error)),
        };
        let claim = match ticket {
            Some(ticket) => folder.claim_ticket(name, ticket)?,
            None => folder.claim(name)?,
        };
        let Some(claim) = claim else { return Ok(None) };
        let text = claim.read();
        claim.release()?;
        Ok(Some(text?))
    }

    /// The node's own credentials, for pulls without an auth file. A problem with them stops no pull.
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

/// The endpoints that containerd asks for the images of a host.
#[derive(Debug, Default)]
pub(crate) struct Endpoints {
    /// In the order in which containerd asks them.
    pub(crate) endpoints: Vec<ContainerdEndpoint>,
    /// Why the file that lists them cannot be read. containerd then asks only the registry itself, so the list has only
    /// that.
    pub(crate) unreadable: Option<UnreadableHosts>,
}

/// A `hosts.toml`, or the folder around it, that exists but cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", path.display())]
pub(crate) struct UnreadableHosts {
    path: PathBuf,
    source: io::Error,
}

/// The endpoints of `host`. As in containerd's `config_path`, the first folder of `certs_d` that has an entry for it
/// counts.
pub(crate) fn endpoints(certs_d: &[PathBuf], host: &str) -> Endpoints {
    let node = NodeRoot::this_machine();
    let mut found = CertsD::default();
    let mut unreadable = None;
    for root in certs_d {
        match node.certs_d_of(root, host) {
            Ok(None) => continue,
            Ok(Some(RegistryFolder { name, path, text })) => {
                let text = text.unwrap_or_else(|source| {
                    unreadable = Some(UnreadableHosts { path, source });
                    None
                });
                found.insert(name, text.as_deref());
            }
            Err(source) => unreadable = Some(UnreadableHosts { path: root.clone(), source }),
        }
        break;
    }
    Endpoints { endpoints: found.endpoints(host), unreadable }
}
