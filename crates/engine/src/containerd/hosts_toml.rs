//! One `hosts.toml` as containerd has it after reading.

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
    /// The hosts that are asked first, in the order in which they are asked.
    pub hosts: Vec<Host>,
    /// Who is asked last. Without a host of its own it is the registry itself.
    pub server: Host,
    pub(super) findings: Vec<Finding>,
}

/// A host of the file, with how to connect to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Where it stands in its document.
    pub at: DocPath,
    /// How to speak to it.
    pub scheme: Scheme,
    /// `host[:port]`; empty if the file has no host.
    pub host: String,
    /// What stands before the repository: `/v2`, or something else with `override_path`.
    pub path: String,
    /// What it may be asked for.
    pub capabilities: Capabilities,
    /// Files with authorities to trust besides the system's, as written: relative ones are beside the file.
    pub ca: Option<Vec<String>>,
    /// Client certificates: the file, and the file of the key if that is another one.
    pub client: Vec<(String, Option<String>)>,
    /// Whether its certificate may be anybody's, if the file says so.
    pub skip_verify: Option<bool>,
    /// Headers sent with every request; a password or token may be among them.
    pub header: BTreeMap<String, Sensitive<Vec<String>>>,
    /// How long to wait for a connection.
    pub dial_timeout: Option<Duration>,
}

/// How a host is spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// TLS.
    Https,
    /// Plain.
    Http,
    /// Something that no request can be made with.
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

    /// Who is asked for the images of this registry, in order.
    #[must_use]
    pub fn endpoints(&self, registry: &str) -> Vec<ContainerdEndpoint> {
        let hosts = self.hosts.iter().map(|host| ContainerdEndpoint::new(EndpointRole::Host, host));
        let server = match self.server.host.as_str() {
            "" => ContainerdEndpoint::registry(registry, Some(&self.server)),
            _ => ContainerdEndpoint::new(EndpointRole::Server, &self.server),
        };
        hosts.chain([server]).collect()
    }

    /// What containerd accepts in silence and a person should know: keys that it passes over, hosts that it never asks.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl Host {
    /// A registry of this name, over TLS, for everything.
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

    /// Whether the file says anything about TLS, even the default: containerd then tries TLS also where the scheme is
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
