//! One `hosts.toml`, as containerd sees it after reading.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::{Capabilities, ContainerdEndpoint, EndpointRole, HostsError, decode};
use crate::credentials::Sensitive;
use pullwright_findings::{DocPath, Finding};
use pullwright_golang::duration::Duration;

/// A file that containerd accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostsToml {
    /// The hosts that containerd asks first, in order.
    pub hosts: Vec<Host>,
    /// The host that containerd asks last. If it has no host, the registry itself is asked.
    pub server: Host,
    pub(super) findings: Vec<Finding>,
}

/// A host of the file, and how to connect to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The path in the document.
    pub at: DocPath,
    /// The scheme of the connection.
    pub scheme: Scheme,
    /// `host[:port]`; empty if the file has no host.
    pub host: String,
    /// The path before the repository: `/v2`, or another one with `override_path`.
    pub path: String,
    /// The requests that the host may get.
    pub capabilities: Capabilities,
    /// Files with certificate authorities to trust besides the system's, as written: relative paths are relative to the
    /// file.
    pub ca: Option<Vec<String>>,
    /// Client certificates: the file, and the file of the key if it is a separate one.
    pub client: Vec<(String, Option<String>)>,
    /// Whether any certificate is accepted, if the file sets it.
    pub skip_verify: Option<bool>,
    /// Headers to send with every request; they may contain a password or token.
    pub header: BTreeMap<String, Sensitive<Vec<String>>>,
    /// The time limit for connecting.
    pub dial_timeout: Option<Duration>,
}

/// The scheme of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// TLS.
    Https,
    /// Plain HTTP.
    Http,
    /// A scheme that no request can be made with.
    Other(String),
}

impl HostsToml {
    /// Reads the text as containerd does.
    ///
    /// # Errors
    /// The first reason why containerd refuses the file. containerd then works without the file.
    pub fn parse(text: &str) -> Result<Self, HostsError> {
        decode::decode(text)
    }

    /// Returns the endpoints that containerd asks for the images of this registry, in order.
    #[must_use]
    pub fn endpoints(&self, registry: &str) -> Vec<ContainerdEndpoint> {
        let hosts = self.hosts.iter().map(|host| ContainerdEndpoint::new(EndpointRole::Host, host));
        let server = match self.server.host.as_str() {
            "" => ContainerdEndpoint::registry(registry, Some(&self.server)),
            _ => ContainerdEndpoint::new(EndpointRole::Server, &self.server),
        };
        hosts.chain([server]).collect()
    }

    /// Returns what containerd silently accepts but a person should know: keys that it ignores, hosts that it never asks.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl Host {
    /// A registry with this name, over TLS, with all capabilities.
    pub(super) fn named(host: &str) -> Self {
        Self {
            at: DocPath::root(),
            scheme: Scheme::Https,
            host: host.to_owned(),
            path: "/v2".to_owned(),
            capabilities: Capabilities::ALL,
            ca: None,
            client: Vec::new(),
            skip_verify: None,
            header: BTreeMap::new(),
            dial_timeout: None,
        }
    }

    /// Whether the file sets anything about TLS, even to the default: containerd then tries TLS even if the scheme is
    /// `http`.
    pub(super) fn configures_tls(&self) -> bool {
        self.ca.is_some() || !self.client.is_empty() || self.skip_verify.is_some()
    }

    /// Whether a request can be made to it at all.
    pub(super) fn is_usable(&self) -> bool {
        !self.host.is_empty() && !matches!(self.scheme, Scheme::Other(_))
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Other(scheme) => scheme,
        })
    }
}

impl Serialize for Scheme {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
