//! The hosts that a pull asks, by which most Secrets of a large namespace are passed over without being taken apart.

use super::scope;

/// Beyond this many hosts, looking for each of them in every document takes longer than to read the document.
const FEW: usize = 8;

/// The hosts of the repositories that a pull may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts<'a>(Names<'a>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Names<'a> {
    Few(Vec<&'a str>),
    Any,
}

impl<'a> Hosts<'a> {
    /// The hosts of `repositories`, each a `host[:port]/path`.
    pub fn of(repositories: impl IntoIterator<Item = &'a str>) -> Self {
        let mut few = Vec::with_capacity(FEW);
        for host in repositories.into_iter().filter_map(|repository| scope::components(repository).next()) {
            if few.contains(&host) {
                continue;
            }
            if few.len() == FEW {
                return Self::any();
            }
            few.push(host);
        }
        Self(Names::Few(few))
    }

    /// Any host: every document matters.
    #[must_use]
    pub fn any() -> Self {
        Self(Names::Any)
    }

    /// Whether a document of credentials may say something about one of the hosts. If not, none of its keys
    /// is one whose scope covers a repository there: such a key has the host in it.
    pub(super) fn may_be_named_in(&self, document: &[u8]) -> bool {
        let Names::Few(hosts) = &self.0 else { return true };
        // An escape may hide a host, and a wildcard is worth a word even though it covers nothing.
        if document.contains(&b'\\') || document.contains(&b'*') {
            return true;
        }
        let named_in = |text: &str| hosts.iter().any(|host| text.contains(host));
        std::str::from_utf8(document).map_or(true, named_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_matters_if_a_key_of_it_may_cover_a_repository() {
        let hosts = Hosts::of(["docker.io/library/nginx", "q.io:5000/hub/nginx"]);
        let matters = |document: &str| hosts.may_be_named_in(document.as_bytes());
        assert!(matters(r#"{"auths": {"q.io:5000/hub": {}}}"#));
        assert!(matters(r#"{"auths": {"https://index.docker.io/v1/": {}}}"#), "an alias");
        assert!(matters(r#"{"auths": {"q.io\u003a5000": {}}}"#), "an escape");
        assert!(matters(r#"{"auths": {"*.io:5000": {}}}"#), "a wildcard");
        assert!(hosts.may_be_named_in(b"\xff"), "not text");
        assert!(!matters(r#"{"auths": {"q.io": {}, "other.io:5000": {}}}"#));
    }

    #[test]
    fn among_many_hosts_or_any_every_document_matters() {
        let many: Vec<_> = (0..=FEW).map(|number| format!("host-{number}.io/a")).collect();
        assert_eq!(Hosts::of(many.iter().map(String::as_str)), Hosts::any());
        assert_ne!(Hosts::of(many[1..].iter().chain(&many[1..]).map(String::as_str)), Hosts::any());
        assert!(Hosts::any().may_be_named_in(b"{}"));
    }
}
