//! `certs.d`, the folder of `hosts.toml` files: which endpoints containerd asks for the images of a host, in order.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::Serialize;

use super::{Capabilities, Capability, Host, HostsError, HostsToml, Scheme};
pub(super) use crate::reference::DOCKER_HUB_REGISTRY as DOCKER_HUB;
use crate::reference::{Reference, contacted_host};

/// The folder for hosts that have no folder of their own.
pub const DEFAULT_FOLDER: &str = "_default";
/// The file that containerd reads in each folder.
pub const HOSTS_TOML: &str = "hosts.toml";

/// The folders of a node, by name.
#[derive(Debug, Clone, Default)]
pub struct CertsD {
    folders: BTreeMap<String, Folder>,
}

/// One folder, named after a host.
#[derive(Debug, Clone)]
pub enum Folder {
    /// With a file that containerd accepts.
    Hosts(HostsToml),
    /// With a file that containerd refuses; containerd then works without it.
    Refused(HostsError),
    /// Without a file, or with an empty one: the folder has certificates at most. `_default` still does not apply to its
    /// host.
    Certificates,
}

/// One endpoint that containerd asks for an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContainerdEndpoint {
    /// Whether it is a mirror or the last resort.
    pub role: EndpointRole,
    /// The scheme that is tried first.
    pub scheme: Scheme,
    /// `host[:port]` of the connection: `registry-1.docker.io` for Docker Hub.
    pub host: String,
    /// The path before the repository, usually `/v2`.
    pub path: String,
    /// The requests that it may get.
    pub capabilities: Capabilities,
    /// Whether any certificate is accepted.
    pub skip_verify: bool,
    /// Whether plain HTTP is tried after TLS.
    pub falls_back_to_http: bool,
}

/// The role of an endpoint in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EndpointRole {
    /// A host of the file.
    Host,
    /// The file's server, or the registry itself.
    Server,
}

impl CertsD {
    /// Adds a folder with the text of its `hosts.toml`, if it has one.
    pub fn insert(&mut self, folder: impl Into<String>, hosts_toml: Option<&str>) {
        let content = match hosts_toml {
            None | Some("") => Folder::Certificates,
            Some(text) => HostsToml::parse(text).map_or_else(Folder::Refused, Folder::Hosts),
        };
        self.folders.insert(folder.into(), content);
    }

    /// Adds a folder whose file is already parsed.
    pub(super) fn insert_read(&mut self, folder: String, file: HostsToml) {
        self.folders.insert(folder, Folder::Hosts(file));
    }

    /// Removes a folder.
    pub(super) fn remove(&mut self, folder: &str) {
        self.folders.remove(folder);
    }

    /// The folders by name.
    pub fn folders(&self) -> impl Iterator<Item = (&str, &Folder)> {
        self.folders.iter().map(|(name, folder)| (name.as_str(), folder))
    }

    /// Returns the folder that applies to a host: `host_port_` before `host:port` before `_default`.
    #[must_use]
    pub fn folder_of(&self, host: &str) -> Option<(&str, &Folder)> {
        let names = folder_names(host);
        let found = names.iter().find_map(|name| self.folders.get_key_value(name))?;
        Some((found.0, found.1))
    }

    /// Returns the endpoints that containerd asks for images of this host (`docker.io`, `registry.example.com:5000`), in
    /// order. The capabilities of each tell which requests it gets.
    #[must_use]
    pub fn endpoints(&self, host: &str) -> Vec<ContainerdEndpoint> {
        match self.folder_of(host) {
            Some((_, Folder::Hosts(file))) => file.endpoints(host),
            _ => vec![ContainerdEndpoint::registry(host, None)],
        }
    }

    /// Returns the endpoints that containerd asks for the image of this reference, in order: by digest if it has one,
    /// otherwise by tag.
    ///
    /// Once a tag is resolved, containerd asks for the content by digest, and endpoints that are not in this list may
    /// answer: see [`Self::endpoints`].
    #[must_use]
    pub fn sources(&self, reference: &Reference) -> Vec<ContainerdEndpoint> {
        let by = if reference.digest().is_some() { By::Digest } else { By::Tag };
        self.endpoints(reference.domain()).into_iter().filter(|endpoint| endpoint.serves(by)).collect()
    }
}

/// How a reference identifies an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// By a tag, which somebody has to be trusted to resolve.
    Tag,
    /// By digest, which determines the content, no matter who serves it.
    Digest,
}

impl ContainerdEndpoint {
    pub(super) fn new(role: EndpointRole, host: &Host) -> Self {
        let falls_back_to_http = host.scheme == Scheme::Http
            && host.configures_tls()
            && split_port(&host.host).is_none_or(|(_, port)| port != "80");
        Self {
            role,
            scheme: if falls_back_to_http { Scheme::Https } else { host.scheme.clone() },
            host: host.host.clone(),
            path: host.path.clone(),
            capabilities: host.capabilities,
            skip_verify: host.skip_verify.unwrap_or(false),
            falls_back_to_http,
        }
    }

    /// The registry itself: the TLS settings of the file apply to it, the capabilities do not.
    pub(super) fn registry(host: &str, settings: Option<&Host>) -> Self {
        let port = split_port(host).map(|(_, port)| port);
        let (scheme, skip_verify) = match port {
            _ if host == "docker.io" || !is_loopback(host) => (Scheme::Https, None),
            None | Some("" | "443") => (Scheme::Https, Some(true)),
            Some("80") => (Scheme::Http, None),
            Some(_) => (Scheme::Http, Some(true)),
        };
        let connected = contacted_host(host);
        let registry = Host {
            scheme,
            ca: settings.and_then(|settings| settings.ca.clone()),
            client: settings.map(|settings| settings.client.clone()).unwrap_or_default(),
            skip_verify: skip_verify.or_else(|| settings?.skip_verify),
            ..Host::named(connected)
        };
        Self::new(EndpointRole::Server, &registry)
    }

    /// Whether it is asked in a pull of this kind: for the digest of a tag, or for content by digest.
    #[must_use]
    pub fn serves(&self, by: By) -> bool {
        self.capabilities.has(Capability::Pull)
            && (by == By::Digest || self.capabilities.has(Capability::Resolve))
    }

    /// Whether somebody between the node and the endpoint could answer in its place.
    #[must_use]
    pub fn is_insecure(&self) -> bool {
        self.skip_verify || self.falls_back_to_http || self.scheme == Scheme::Http
    }

    /// Returns the `AuthConfig.server_address` with which a credential is sent to this endpoint and nowhere else; containerd
    /// compares the host of this URL with the one that it is connected to.
    #[must_use]
    pub fn server_address(&self) -> String {
        format!("{}://{}", self.scheme, self.host)
    }
}

impl fmt::Display for ContainerdEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.host, self.path)
    }
}

/// Returns the names that the folder of a host may have. If several exist, containerd reads only the first of them.
#[must_use]
pub fn folder_names(host: &str) -> [String; 3] {
    [folder_name(host), host.to_owned(), DEFAULT_FOLDER.to_owned()]
}

/// Returns the preferred folder name for a host. It has no colon, which not every file system allows in names.
#[must_use]
pub fn folder_name(host: &str) -> String {
    match host.rfind(':') {
        Some(colon) if colon > 0 => format!("{}_{}_", &host[..colon], &host[colon + 1..]),
        _ => host.to_owned(),
    }
}

/// Returns the host that a folder is for; `None` for [`DEFAULT_FOLDER`].
#[must_use]
pub fn host_of_folder(folder: &str) -> Option<String> {
    if folder == DEFAULT_FOLDER {
        return None;
    }
    let port = folder.strip_suffix('_').and_then(|rest| rest.rsplit_once('_'));
    Some(match port {
        Some((host, port)) if !host.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{host}:{port}")
        }
        _ => folder.to_owned(),
    })
}

/// Go's `net.SplitHostPort`, for hosts of image names.
pub(super) fn split_port(host: &str) -> Option<(&str, &str)> {
    let (name, port) = host.rsplit_once(':')?;
    match name.strip_prefix('[') {
        Some(address) => Some((address.strip_suffix(']')?, port)),
        None if name.contains(':') => None,
        None => Some((name, port)),
    }
}

pub(super) fn is_loopback(host: &str) -> bool {
    let name = split_port(host).map_or(host, |(name, _)| name);
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}
