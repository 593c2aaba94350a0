//! What the key of an entry in a Secret covers: a host and whole path components.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use thiserror::Error;

use crate::reference::canonical_host;

/// A registry host with its optional port, or a part of it given by whole path components.
///
/// Keys in Secrets have many spellings, but a scope has one: `host[:port][/component…]`, with Docker Hub as
/// `docker.io`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Scope(String);

/// Why a key can never match a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeError {
    /// Nothing is left of the key after removing the scheme and slashes.
    #[error("the key names no host")]
    NoHost,
    /// The kubelet supports `*.example.com`, but containers/image does not.
    #[error("the key has a wildcard, and CRI-O does not know wildcards in credentials")]
    Wildcard,
    /// A scheme other than `http://` and `https://`, which no consumer strips.
    #[error("the key has a scheme other than http:// and https://")]
    Scheme,
    /// `user:password@host`: no consumer reads it this way, and it may contain a secret.
    #[error("the key has an '@', so it is no repository")]
    At,
    /// A tag or a port in the wrong place: `host/name:tag`.
    #[error("the key has a ':' after host[:port]")]
    Colon,
    /// `host//name`.
    #[error("the key has an empty path component")]
    EmptyComponent,
    /// A space, `#`, or another character that no host or repository name has.
    #[error("the key has a character that no registry host or repository has")]
    Character,
    /// Far longer than any repository name can be.
    #[error("the key is longer than any repository's name")]
    Long,
}

impl Scope {
    /// Parses the key of an entry in a Secret, in any spelling in use.
    ///
    /// A URL of the registry API (`https://host/v1/`, `/v2`) stands for the whole host. Without a scheme and a trailing
    /// slash, `host/v1` is the namespace `v1`, as for all consumers. A URL with another path stands for that path only,
    /// although containers/image would send its credential to the whole host.
    ///
    /// # Errors
    /// If no repository can be in the scope of the key.
    pub fn parse(key: &str) -> Result<Self, ScopeError> {
        let url = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://"));
        let name = url.unwrap_or(key);
        if name.contains("://") {
            return Err(ScopeError::Scheme);
        }
        if name.contains('@') {
            return Err(ScopeError::At);
        }
        let trimmed = name.trim_end_matches('/');
        let (host, path) = match trimmed.split_once('/') {
            Some((host, "v1" | "v2")) if url.is_some() || name.len() > trimmed.len() => (host, None),
            Some((host, path)) => (host, Some(path)),
            None => (trimmed, None),
        };
        check_host(host)?;
        path.map_or(Ok(()), |path| path.split('/').try_for_each(check_component))?;
        let host = canonical_host(host);
        Ok(Self(path.map_or_else(|| host.to_owned(), |path| format!("{host}/{path}"))))
    }

    /// Returns whether `repository` (`host[:port]/path`) is in this scope.
    ///
    /// This is the crate's only prefix test for credentials. It compares whole components, because text prefixes leak:
    /// `q.io` is a prefix of `q.io.evil.com`, `q.io/team` of `q.io/team-evil`, and `localhost:500` of `localhost:5000`.
    #[must_use]
    pub fn covers(&self, repository: &str) -> bool {
        let mut of_repository = components(repository);
        self.components().all(|component| of_repository.next() == Some(component))
    }

    /// Returns the host, then the path components.
    pub(super) fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the scope in its canonical spelling.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the components of a repository name, spelled as in scopes.
pub(super) fn components(repository: &str) -> impl Iterator<Item = &str> {
    let (host, path) = match repository.split_once('/') {
        Some((host, path)) => (host, Some(path)),
        None => (repository, None),
    };
    std::iter::once(canonical_host(host)).chain(path.into_iter().flat_map(|path| path.split('/')))
}

/// Returns a key in a form that is safe to show: without what a user may have put before an `@`.
pub(super) fn shown(key: &str) -> Cow<'_, str> {
    match key.rsplit_once('@') {
        Some((_, host)) => Cow::Owned(format!("…@{host}")),
        None => Cow::Borrowed(key),
    }
}

fn check_host(host: &str) -> Result<(), ScopeError> {
    if host.is_empty() {
        return Err(ScopeError::NoHost);
    }
    if let Some(address) = host.strip_prefix('[') {
        // These are the brackets of an IPv6 address, or else those of a glob.
        let (address, port) = address.split_once(']').ok_or(ScopeError::Wildcard)?;
        let of_address = |byte: u8| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.';
        if !address.contains(':') || !address.bytes().all(of_address) {
            return Err(ScopeError::Wildcard);
        }
        return if port.is_empty() { Ok(()) } else { check_port(port) };
    }
    let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
    check_component(name)?;
    if port.is_empty() { Ok(()) } else { check_port(port) }
}

fn check_port(port: &str) -> Result<(), ScopeError> {
    let digits = port.strip_prefix(':').ok_or(ScopeError::Character)?;
    if digits.contains('*') {
        return Err(ScopeError::Wildcard);
    }
    let is_port = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_port { Ok(()) } else { Err(ScopeError::Colon) }
}

fn check_component(component: &str) -> Result<(), ScopeError> {
    if component.is_empty() {
        return Err(ScopeError::EmptyComponent);
    }
    if component.contains(['*', '?', '[', ']']) {
        return Err(ScopeError::Wildcard);
    }
    if component.contains(':') {
        return Err(ScopeError::Colon);
    }
    let of_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    if component.chars().all(of_name) { Ok(()) } else { Err(ScopeError::Character) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scope(key: &str) -> String {
        Scope::parse(key).unwrap().to_string()
    }

    #[test]
    fn every_spelling_of_a_host_is_one_scope() {
        for key in [
            "q.io",
            "q.io/",
            "https://q.io",
            "http://q.io/",
            "https://q.io/v1",
            "https://q.io/v2/",
            "q.io/v1/",
        ] {
            assert_eq!(scope(key), "q.io", "{key}");
        }
        for key in [
            "docker.io",
            "index.docker.io",
            "registry-1.docker.io",
            "https://index.docker.io/v1/",
            "https://index.docker.io/v1",
        ] {
            assert_eq!(scope(key), "docker.io", "{key}");
        }
        assert_eq!(scope("localhost:5000"), "localhost:5000");
        assert_eq!(scope("https://[fd00::1]:5000/v2/"), "[fd00::1]:5000");
    }

    #[test]
    fn a_path_narrows_the_scope_with_and_without_a_scheme() {
        assert_eq!(scope("q.io/ns"), "q.io/ns");
        assert_eq!(scope("https://q.io/ns/"), "q.io/ns");
        assert_eq!(scope("q.io/v1"), "q.io/v1", "a namespace called v1");
        assert_eq!(scope("https://q.io/v2/ns"), "q.io/v2/ns");
        assert_eq!(scope("index.docker.io/library"), "docker.io/library");
    }

    #[test]
    fn keys_that_can_never_be_looked_up_say_why() {
        for (key, error) in [
            ("", ScopeError::NoHost),
            ("https://", ScopeError::NoHost),
            ("/ns", ScopeError::NoHost),
            ("*.q.io", ScopeError::Wildcard),
            ("https://prefix.*.io/path", ScopeError::Wildcard),
            ("q.io:*", ScopeError::Wildcard),
            ("[ab].q.io", ScopeError::Wildcard),
            ("docker://q.io", ScopeError::Scheme),
            ("HTTPS://q.io", ScopeError::Scheme),
            ("http://https://q.io", ScopeError::Scheme),
            ("https://user:pass@q.io", ScopeError::At),
            ("q.io/ns:tag", ScopeError::Colon),
            ("q.io:port", ScopeError::Colon),
            ("q.io//ns", ScopeError::EmptyComponent),
            ("q.io/a b", ScopeError::Character),
            (" q.io", ScopeError::Character),
            ("q.io/a#b", ScopeError::Character),
        ] {
            assert_eq!(Scope::parse(key), Err(error), "{key}");
        }
    }

    #[test]
    fn a_scope_ends_at_a_host_and_at_a_component() {
        let covers = |key: &str, repository: &str| Scope::parse(key).unwrap().covers(repository);
        assert!(covers("q.io", "q.io/team/app"));
        assert!(covers("q.io/team", "q.io/team"));
        assert!(covers("q.io/team/app", "q.io/team/app"));
        assert!(covers("https://index.docker.io/v1/", "docker.io/library/nginx"));
        assert!(covers("docker.io", "registry-1.docker.io/library/nginx"));
        for (key, repository) in [
            ("q.io", "q.io.evil.com/team/app"),
            ("q.io", "q.io:443/team/app"),
            ("q.io", "evil.com/q.io/app"),
            ("q.io/team", "q.io/team-evil/app"),
            ("q.io/team/app", "q.io/team"),
            ("localhost:500", "localhost:5000/app"),
            ("docker.io/lib", "docker.io/library/nginx"),
            ("q.io", "Q.io/app"),
        ] {
            assert!(!covers(key, repository), "{key} {repository}");
        }
    }

    #[test]
    fn what_stands_before_an_at_sign_is_not_shown() {
        assert_eq!(shown("https://user:pass@q.io/v1/"), "…@q.io/v1/");
        assert_eq!(shown("q.io"), "q.io");
    }

    proptest! {
        /// A scope covers a repository only when their texts agree up to a slash or the end, aliases of
        /// Docker Hub aside.
        #[test]
        fn a_scope_never_crosses_a_boundary(
            key in "[ab](\\.[ab]){0,2}(:5)?(/[ab-]{1,2}){0,3}",
            repository in "[ab](\\.[ab]){0,2}(:5)?(/[ab-]{1,2}){0,3}",
        ) {
            let scope = Scope::parse(&key).unwrap();
            let expected = format!("{repository}/").starts_with(&format!("{key}/"));
            prop_assert_eq!(scope.covers(&repository), expected);
        }

        /// A scope is its own spelling, and covers itself.
        #[test]
        fn parsing_what_was_parsed_changes_nothing(key in "(https?://)?[a-c.:/\\[\\]0-9@*v]{0,12}") {
            if let Ok(scope) = Scope::parse(&key) {
                prop_assert!(scope.covers(scope.as_str()));
                prop_assert_eq!(Scope::parse(scope.as_str()), Ok(scope));
            }
        }
    }
}
