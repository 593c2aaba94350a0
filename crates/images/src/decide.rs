//! Decides which calls containerd gets for one pull and in which order, each with a credential for one host.

use std::fmt;

use pullwright_engine::containerd::{ContainerdEndpoint, EndpointRole};
use pullwright_engine::credentials::{AuthFile, Lookup};
use pullwright_engine::reference::{Reference, canonical_host};
use pullwright_engine::registries::{NotAsked, PullBy, RegistriesConf};

use crate::auth_config::AuthConfig;

/// The inputs of the decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallInputs<'a> {
    /// The image.
    pub(crate) reference: &'a Reference,
    /// The node's `registries.conf`, which gives the sources and their order.
    pub(crate) registries: &'a RegistriesConf,
    /// The endpoints that containerd asks for images of that host; the last one is the registry itself.
    pub(crate) endpoints: &'a [ContainerdEndpoint],
    /// The credentials.
    pub(crate) file: &'a AuthFile,
}

/// The calls in order, and the sources that get none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) calls: Vec<Call>,
    pub(crate) passed_over: Vec<SkippedSource>,
}

/// One call to containerd.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) origin: CredentialOrigin,
    pub(crate) auth: AuthConfig,
}

/// Where the credential of a call comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CredentialOrigin {
    /// The auth file's credential for this source, `host/repository`.
    Source {
        repository: String,
        host: String,
        /// Whether containerd asks that host for this image, according to its `hosts.toml`.
        asked: bool,
    },
    /// The credential that the kubelet sent: the Pod's `imagePullSecrets`.
    Kubelet,
}

/// A source that gets no call, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SkippedSource {
    pub(crate) repository: String,
    pub(crate) why: NoCall,
}

/// Why a source gets no call.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoCall {
    /// The file has no credential for it; containerd asks it anonymously during the other calls.
    #[error("no credential")]
    Nothing,
    /// The file names a credential helper.
    #[error("its credential helper {0:?} is not run by this service")]
    Helper(String),
    /// The entry is broken.
    #[error("{0}")]
    Broken(String),
    /// The credential has a password but no user name.
    #[error("its credential has no user name")]
    NoUser,
    /// `registries.conf` blocks the source.
    #[error("blocked by {0:?} in registries.conf")]
    Blocked(String),
}

/// Decides the calls for the credentials of a file.
pub(crate) fn decide(inputs: &CallInputs<'_>) -> Calls {
    let mut decided = Calls::default();
    let route = inputs.registries.route(inputs.reference, PullBy::of(inputs.reference));
    for source in &route.sources {
        let repository = source.reference.name().to_owned();
        let call = match source.not_asked(route.by) {
            Some(NotAsked::ServesOnly(_)) => continue,
            Some(NotAsked::BlockedBy(prefix)) => Err(NoCall::Blocked(prefix.to_owned())),
            None => call(inputs, &source.reference),
        };
        match call {
            Ok(call) if decided.calls.iter().any(|earlier| earlier.auth == call.auth) => {}
            Ok(call) => decided.calls.push(call),
            Err(why) => decided.passed_over.push(SkippedSource { repository, why }),
        }
    }
    // Hosts that containerd does not ask come last: they cannot make the pull work, provided that containerd uses the
    // files that we read.
    decided.calls.sort_by_key(|call| matches!(call.origin, CredentialOrigin::Source { asked: false, .. }));
    decided
}

/// The call for one source.
fn call(inputs: &CallInputs<'_>, source: &Reference) -> Result<Call, NoCall> {
    let credential = match inputs.file.lookup(source.name()) {
        Lookup::Found { credential, .. } => credential,
        Lookup::None { .. } => return Err(NoCall::Nothing),
        Lookup::Helper { name } => return Err(NoCall::Helper(name.to_owned())),
        Lookup::Failed(error) => return Err(NoCall::Broken(error.to_string())),
    };
    let endpoint = endpoint_of(inputs.reference, inputs.endpoints, source.domain());
    let address =
        endpoint.map_or_else(|| format!("https://{}", source.domain()), ContainerdEndpoint::server_address);
    let auth = AuthConfig::bound(&credential, &address).ok_or(NoCall::NoUser)?;
    let (repository, host) = (source.name().to_owned(), source.domain().to_owned());
    Ok(Call { origin: CredentialOrigin::Source { repository, host, asked: endpoint.is_some() }, auth })
}

/// The call with the kubelet's credential. It was chosen by the image's own name, so it is for that registry and not
/// for its mirrors.
pub(crate) fn with_kubelets(reference: &Reference, endpoints: &[ContainerdEndpoint], auth: &[u8]) -> Calls {
    let own = endpoint_of(reference, endpoints, reference.domain()).map(ContainerdEndpoint::server_address);
    let auth = AuthConfig::of_kubelet(auth, own.as_deref());
    let calls = auth.into_iter().map(|auth| Call { origin: CredentialOrigin::Kubelet, auth }).collect();
    Calls { calls, passed_over: Vec::new() }
}

/// The endpoint through which containerd contacts `host` for this image.
fn endpoint_of<'a>(
    reference: &Reference,
    endpoints: &'a [ContainerdEndpoint],
    host: &str,
) -> Option<&'a ContainerdEndpoint> {
    let named = endpoints.iter().find(|endpoint| is_host(endpoint, host));
    let own = || endpoints.iter().find(|endpoint| endpoint.role == EndpointRole::Server);
    named.or_else(|| if host == reference.domain() { own() } else { None })
}

/// Whether an endpoint is the host of an image name, which may omit the default port of its scheme.
pub(crate) fn is_host(endpoint: &ContainerdEndpoint, host: &str) -> bool {
    let port = match endpoint.scheme.to_string().as_str() {
        "http" => ":80",
        _ => ":443",
    };
    let plain = |host: &str| canonical_host(host.strip_suffix(port).unwrap_or(host)).to_ascii_lowercase();
    plain(&endpoint.host) == plain(host)
}

impl CredentialOrigin {
    /// The host to show in metrics.
    pub(crate) fn host(&self) -> &str {
        match self {
            Self::Source { host, .. } => host,
            Self::Kubelet => "kubelet",
        }
    }
}

impl fmt::Display for CredentialOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source { repository, asked: true, .. } => f.write_str(repository),
            Self::Source { repository, asked: false, .. } => {
                write!(f, "{repository} (not among the hosts that containerd asks for this image)")
            }
            Self::Kubelet => f.write_str("imagePullSecrets"),
        }
    }
}

#[cfg(test)]
mod tests;
