//! Decides which entries of a namespace's Secrets matter to a pull. Most Secrets are skipped without parsing; of the
//! others, only the entries that cover a repository of the pull are kept.

use std::borrow::Cow;
use std::collections::HashSet;

use super::scope::{self, Scope};

/// With more hosts than this, searching every document for each host takes longer than parsing the document.
const FEW: usize = 8;

/// The repositories that a pull may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedRepositories<'a> {
    /// The hosts, or `None` if every document matters.
    hosts: Option<Vec<&'a str>>,
    /// Each repository and everything above it, in the canonical spelling of scopes. `None` if every scope matters.
    scopes: Option<HashSet<Cow<'a, str>>>,
}

impl<'a> WantedRepositories<'a> {
    /// Selects what concerns `repositories`, each a `host[:port]/path`.
    pub fn of(repositories: impl IntoIterator<Item = &'a str>) -> Self {
        let repositories = repositories.into_iter();
        // Most repositories have two components after the host. Growing the set would hash all of them again.
        let mut scopes = HashSet::with_capacity(3 * repositories.size_hint().0);
        let mut hosts = Some(Vec::with_capacity(FEW));
        for repository in repositories {
            let Some(host) = scope::components(repository).next() else { continue };
            match &mut hosts {
                Some(few) if few.contains(&host) => {}
                Some(few) if few.len() < FEW => few.push(host),
                _ => hosts = None,
            }
            add_scopes(&mut scopes, repository, host);
        }
        Self { hosts, scopes: Some(scopes) }
    }

    /// Selects everything, for callers that list what Secrets hold.
    #[must_use]
    pub fn anything() -> Self {
        Self { hosts: None, scopes: None }
    }

    /// Selects the same scopes but parses every document, to report what is wrong with it.
    #[must_use]
    pub fn in_every_document(&self) -> Self {
        Self { hosts: None, scopes: self.scopes.clone() }
    }

    /// Returns whether a document of credentials may concern one of the hosts. If not, no key in it has a scope that
    /// covers a repository there, because such a key contains the host.
    pub(super) fn may_be_in(&self, document: &[u8]) -> bool {
        let Some(hosts) = &self.hosts else { return true };
        // An escape can hide a host, and a wildcard is worth reporting even though it covers nothing.
        if document.contains(&b'\\') || document.contains(&b'*') {
            return true;
        }
        let named_in = |text: &str| hosts.iter().any(|host| text.contains(host));
        std::str::from_utf8(document).map_or(true, named_in)
    }

    /// Returns whether `scope` covers one of the repositories.
    pub(super) fn has(&self, scope: &Scope) -> bool {
        self.scopes.as_ref().is_none_or(|scopes| scopes.contains(scope.as_str()))
    }
}

/// Adds `repository` and everything above it, up to its host, which scopes spell as `host`.
fn add_scopes<'a>(scopes: &mut HashSet<Cow<'a, str>>, repository: &'a str, host: &'a str) {
    let name = match repository.split_once('/') {
        Some((alias, path)) if alias != host => Cow::Owned(format!("{host}/{path}")),
        Some(_) => Cow::Borrowed(repository),
        None => Cow::Borrowed(host),
    };
    let mut end = name.len();
    loop {
        let above = match &name {
            Cow::Borrowed(name) => Cow::Borrowed(&name[..end]),
            Cow::Owned(name) => Cow::Owned(name[..end].to_owned()),
        };
        // If a scope is already present, everything above it is too.
        if !scopes.insert(above) {
            return;
        }
        match name[..end].rfind('/') {
            Some(slash) => end = slash,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_matters_if_a_key_of_it_may_cover_a_repository() {
        let wanted = WantedRepositories::of(["docker.io/library/nginx", "q.io:5000/hub/nginx"]);
        let matters = |document: &str| wanted.may_be_in(document.as_bytes());
        assert!(matters(r#"{"auths": {"q.io:5000/hub": {}}}"#));
        assert!(matters(r#"{"auths": {"https://index.docker.io/v1/": {}}}"#), "an alias");
        assert!(matters(r#"{"auths": {"q.io\u003a5000": {}}}"#), "an escape");
        assert!(matters(r#"{"auths": {"*.io:5000": {}}}"#), "a wildcard");
        assert!(wanted.may_be_in(b"\xff"), "not text");
        assert!(!matters(r#"{"auths": {"q.io": {}, "other.io:5000": {}}}"#));
    }

    #[test]
    fn among_many_hosts_or_any_every_document_matters() {
        let many: Vec<_> = (0..=FEW).map(|number| format!("host-{number}.io/a")).collect();
        let names = || many.iter().map(String::as_str);
        assert!(WantedRepositories::of(names()).may_be_in(b"{}"));
        assert!(!WantedRepositories::of(names().skip(1).chain(names().skip(1))).may_be_in(b"{}"));
        assert!(WantedRepositories::of(["q.io/a"]).in_every_document().may_be_in(b"{}"));
        assert!(WantedRepositories::anything().may_be_in(b"{}"));
    }

    #[test]
    fn a_scope_is_wanted_if_it_covers_a_repository() {
        let repositories = ["registry-1.docker.io/library/nginx", "q.io:5000/hub/nginx", "q.io:5000/hub/a"];
        let wanted = WantedRepositories::of(repositories);
        for key in [
            "docker.io",
            "https://index.docker.io/v1/",
            "docker.io/library",
            "index.docker.io/library/nginx",
            "q.io:5000",
            "q.io:5000/hub",
            "q.io:5000/hub/nginx",
            "q.io:5000/hub/nginx/below",
            "q.io",
            "q.io:5000/hu",
            "library/nginx",
            "docker.io/nginx",
        ] {
            let scope = Scope::parse(key).unwrap();
            let covers = repositories.iter().any(|repository| scope.covers(repository));
            assert_eq!(wanted.has(&scope), covers, "{key}");
            assert!(WantedRepositories::anything().has(&scope));
        }
    }
}
