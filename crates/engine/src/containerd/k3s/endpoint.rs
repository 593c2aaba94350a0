//! Interprets addresses in `registries.yaml` as K3s does.

use super::super::certs_d::{DOCKER_HUB, is_loopback, split_port};
use super::super::{Host, Scheme};
use crate::reference::contacted_host;
use pullwright_golang::url::Url;

/// Returns the host of an endpoint and the key of its settings; `None` if K3s ignores the endpoint or containerd cannot send
/// requests to it.
pub(super) fn endpoint(text: &str) -> Option<(String, Host)> {
    let (scheme, rest) = match text.split_once("://") {
        None => (None, text),
        Some(("https", rest)) => (Some(Scheme::Https), rest),
        Some(("http", rest)) => (Some(Scheme::Http), rest),
        Some(_) => return None,
    };
    let url = Url::parse_schemeless(rest).ok()?;
    let (host, path) = (std::str::from_utf8(url.host()).ok()?, std::str::from_utf8(url.path()).ok()?);
    if host.is_empty() {
        return None;
    }
    let settings = if host == DOCKER_HUB { "docker.io" } else { host };
    let connected = contacted_host(host);
    // Only these three mean `/v2`; any other path is used as it is.
    let path = match path {
        "" | "/" | "/v2" => "/v2".to_owned(),
        path => super::super::path::clean(path),
    };
    let scheme = scheme.unwrap_or_else(|| default_scheme(host));
    Some((settings.to_owned(), Host { scheme, path, ..Host::named(connected) }))
}

fn default_scheme(host: &str) -> Scheme {
    let has_port = split_port(host).is_some_and(|(_, port)| !["", "443"].contains(&port));
    if is_loopback(host) && has_port { Scheme::Http } else { Scheme::Https }
}
