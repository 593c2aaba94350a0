//! The location of a repository: the URLs of its manifests and blobs.

use hyper::Uri;
use pullwright_engine::reference::{Reference, contacted_host};

use crate::digest::Digest;

/// The protocol that a registry uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Https,
    Http,
}

/// A repository in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    host: String,
    path: String,
    /// The upstream to name to a proxying registry; empty if there is none.
    namespace_proxy: String,
}

/// Why a reference does not give a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The first component is not a host name, so the whole name is a path.
    #[error("{0:?} names no registry host")]
    NoHost(String),
    /// The parts do not form a valid URL.
    #[error("{0:?} is no URL")]
    Url(String),
}

impl Repository {
    pub(crate) fn of(reference: &Reference, namespace_proxy: &str) -> Result<Self, AddressError> {
        let host = reference.domain();
        let path = reference.name().strip_prefix(host).and_then(|rest| rest.strip_prefix('/'));
        let path = path.filter(|_| !host.is_empty());
        let path = path.ok_or_else(|| AddressError::NoHost(reference.name().to_owned()))?;
        Ok(Self {
            host: contacted_host(host).to_owned(),
            path: path.to_owned(),
            namespace_proxy: namespace_proxy.to_owned(),
        })
    }

    /// The host to contact, with its port.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The scope that a token must have: to pull from this repository and nothing else.
    pub(crate) fn scope(&self) -> String {
        format!("repository:{}:pull", self.path)
    }

    /// The URL to ask first, to learn which protocol and which authentication the registry wants.
    pub(crate) fn ping(&self, scheme: Scheme) -> Result<Uri, AddressError> {
        self.url(scheme, "")
    }

    /// The URL of a manifest, by tag or by digest.
    pub(crate) fn manifest(&self, scheme: Scheme, version: &str) -> Result<Uri, AddressError> {
        self.url(scheme, &self.with_proxy(format!("{}/manifests/{version}", self.path)))
    }

    /// The URL of a blob.
    pub(crate) fn blob(&self, scheme: Scheme, digest: &Digest) -> Result<Uri, AddressError> {
        self.url(scheme, &self.with_proxy(format!("{}/blobs/{digest}", self.path)))
    }

    fn with_proxy(&self, path: String) -> String {
        match self.namespace_proxy.as_str() {
            "" => path,
            upstream => format!("{path}?ns={}", escape(upstream.as_bytes())),
        }
    }

    fn url(&self, scheme: Scheme, path: &str) -> Result<Uri, AddressError> {
        let scheme = match scheme {
            Scheme::Https => "https",
            Scheme::Http => "http",
        };
        let url = format!("{scheme}://{}/v2/{path}", self.host);
        url.parse().map_err(|_| AddressError::Url(url))
    }
}

/// Percent-encodes every byte that could have a meaning in a query.
pub(crate) fn escape(text: &[u8]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for &byte in text {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push('%');
            for digit in [byte >> 4, byte & 15] {
                escaped
                    .extend(char::from_digit(u32::from(digit), 16).map(|digit| digit.to_ascii_uppercase()));
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use pullwright_engine::reference::Dialect;

    use super::*;

    fn repository(image: &str, namespace_proxy: &str) -> Repository {
        let reference = Reference::parse(Dialect::Runtime, image).unwrap();
        Repository::of(&reference, namespace_proxy).unwrap()
    }

    #[test]
    fn urls_are_those_of_the_distribution_specification() {
        let repository = repository("registry.example:5000/team/app:1", "");
        let digest = Digest::of(b"");
        assert_eq!(repository.ping(Scheme::Https).unwrap(), "https://registry.example:5000/v2/");
        assert_eq!(
            repository.manifest(Scheme::Http, "1").unwrap(),
            "http://registry.example:5000/v2/team/app/manifests/1"
        );
        let blob = repository.blob(Scheme::Https, &digest).unwrap();
        assert_eq!(blob.path_and_query().unwrap().as_str(), format!("/v2/team/app/blobs/{digest}"));
        assert_eq!(repository.scope(), "repository:team/app:pull");
    }

    #[test]
    fn docker_hub_is_served_by_another_host() {
        assert_eq!(repository("nginx", "").host(), "registry-1.docker.io");
        assert_eq!(repository("nginx", "").scope(), "repository:library/nginx:pull");
    }

    #[test]
    fn a_proxying_registry_is_told_the_upstream() {
        let url = repository("cache.example/app", "quay.io:443").manifest(Scheme::Https, "1");
        assert_eq!(url.unwrap(), "https://cache.example/v2/app/manifests/1?ns=quay.io%3A443");
    }

    #[test]
    fn a_name_without_a_host_has_no_url() {
        let reference = Reference::parse(Dialect::Runtime, "under_score.io/app").unwrap();
        assert!(matches!(Repository::of(&reference, ""), Err(AddressError::NoHost(_))));
    }
}
