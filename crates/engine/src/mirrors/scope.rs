//! Scopes: which texts are valid scopes, which scope lies inside which, and how to find the scopes around a given one
//! without trying all of them.
//!
//! There are two relations, and both are needed. A scope lies *inside* another (`quay.io/a` inside `quay.io`,
//! `a.example.com` inside `*.example.com`, but `quay.io:443` not inside `quay.io`, which is a different registry): this
//! decides which scopes a rule affects. And an entry of the file *governs* a name, by the library's own matching, which does
//! let `quay.io` govern `quay.io:443/a`: this decides what a node pulls.

use crate::reference::{Dialect, is_domain, is_path};
use crate::registries::{Index, wildcard_suffix};

/// Whether `text` can be a source: `*.host`, or anything that can be a mirror.
pub(super) fn is_source(text: &str) -> bool {
    match text.strip_prefix("*.") {
        Some(host) => is_domain(Dialect::Runtime, host) && !host.contains(':'),
        None => is_mirror(text),
    }
}

/// Whether `text` can be a mirror: `host[:port][/path]`, the path in lower case, without tag or digest.
pub(super) fn is_mirror(text: &str) -> bool {
    match text.split_once('/') {
        Some((host, path)) => is_domain(Dialect::Runtime, host) && is_path(path),
        None => is_domain(Dialect::Runtime, text),
    }
}

/// Returns the host of a scope, without port and path. For `*.example.com` that is the whole scope.
pub(super) fn host_name(scope: &str) -> &str {
    &scope[..scope.find([':', '/']).unwrap_or(scope.len())]
}

/// Returns `inner` without the part that `outer` covers: this is what the library appends to a mirror of `outer` for names
/// in `inner`.
pub(super) fn remainder<'a>(inner: &'a str, outer: &str) -> &'a str {
    let covered = if wildcard_suffix(outer).is_some() { host_name(inner).len() } else { outer.len() };
    inner.get(covered..).unwrap_or_default()
}

/// Maps scopes to values. [`Index::find`] returns the entry that governs a name.
pub(super) type ScopeMap<'a, T> = Index<&'a str, T>;

impl<T: Copy> ScopeMap<'_, T> {
    /// Returns the values of `scope` and of all scopes around it, the most specific first.
    pub(super) fn around<'s>(&'s self, scope: &'s str) -> impl Iterator<Item = T> + 's {
        let literals = self.literals_of(scope, |c| c == '/');
        literals.chain(self.wildcards_of(host_name(scope))).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_inside(inner: &str, outer: &str) -> bool {
        let mut map = ScopeMap::default();
        map.get_or_insert(outer, ());
        map.around(inner).next().is_some()
    }

    #[test]
    fn a_scope_lies_inside_itself_its_parents_and_the_wildcards_of_its_host() {
        for (inner, outer) in [
            ("quay.io", "quay.io"),
            ("quay.io/ns1", "quay.io"),
            ("quay.io/ns1/ns2/ns3", "quay.io"),
            ("foo.example.com", "*.example.com"),
            ("*.foo.example.com", "*.example.com"),
            ("foo.example.com/bar", "*.example.com"),
            ("foo.example.com:443/bar/baz", "*.example.com"),
        ] {
            assert!(is_inside(inner, outer), "{inner} {outer}");
        }
        for (inner, outer) in [
            ("quay.io", "example.com"),
            ("quay.io:443", "quay.io"),
            ("quay.io:443", "quay.io:444"),
            ("quay.io.example.com", "quay.io"),
            ("quay.io2", "quay.io"),
            ("quay.io/ns1/ns2/ns3", "not-quay.io"),
            ("bar/example.foo", "*.foo"),
            ("example/bar.foo/quay.io", "*.foo"),
            ("example/bar.foo:400", "*.foo"),
            ("example.com", "*.example.com"),
            ("foo.registry.com", "*.example.com"),
            ("foo.example.com", "**.example.com"),
            ("foo.example.com", "example.*.com"),
            ("foo.example.com", "*.example.com/foo/bar"),
            ("foo.example.com:443/bar/baz", "*.example.com/bar/baz"),
            ("foo.example.com", "*example.com"),
            ("foo.example.com", "*/example.com"),
        ] {
            assert!(!is_inside(inner, outer), "{inner} {outer}");
        }
    }

    #[test]
    fn the_patterns_of_the_api_decide_what_is_a_scope() {
        for good in [
            "example.com",
            "*.example.com",
            "registry.io/myrepo",
            "localhost:5000/repo",
            "Quay.io",
            "a/b__c/d--e",
        ] {
            assert!(is_source(good), "{good}");
        }
        for bad in [
            "",
            "**.example.com",
            "example.*.com",
            "*.example.com/foo/bar",
            "*.example.com:foo",
            "*.example.com:443",
            "*.example.com/foo:sha@bar",
            "*.example.com.*.bar.com",
            "*example.com",
            "*/example.com",
            "*.*example.com",
            "*.",
            "registry.io/myrepo:latest",
            "registry.io/myrepo@sha256:abc123",
            "quay.io/",
            "quay.io/A",
            "https://quay.io",
            "quay.io ",
        ] {
            assert!(!is_source(bad), "{bad}");
        }
        assert!(is_mirror("example.com:5000/a") && !is_mirror("*.example.com"));
    }

    #[test]
    fn the_most_specific_scope_comes_first() {
        let mut map = ScopeMap::default();
        let scopes =
            ["*.com", "a.example.com/x/y", "*.example.com", "a.example.com", "a.example.com/x", "b.com"];
        for scope in scopes {
            assert_eq!(map.get_or_insert(scope, scope), scope);
        }
        let around: Vec<&str> = map.around("a.example.com/x/y").collect();
        assert_eq!(
            around,
            ["a.example.com/x/y", "a.example.com/x", "a.example.com", "*.example.com", "*.com"]
        );
    }

    #[test]
    fn an_entry_governs_what_the_library_matches() {
        let mut map = ScopeMap::default();
        for scope in ["quay.io", "*.example.com", "a.example.com", "bb.example.com", "*.x.io"] {
            map.get_or_insert(scope, scope);
        }
        for (name, scope) in [
            ("quay.io/a", Some("quay.io")),
            ("quay.io:443/a", Some("quay.io")),
            ("a.example.com/x", Some("*.example.com")),
            ("bb.example.com/x", Some("bb.example.com")),
            ("c.example.com:5000/x", Some("*.example.com")),
            ("example.com/x", None),
            ("a.x.io.x.io/y", None),
        ] {
            assert_eq!(map.find(name), scope, "{name}");
        }
    }

    #[test]
    fn what_stays_of_a_name_is_what_the_library_appends() {
        for (inner, outer, rest) in [
            ("a.com/b/c", "a.com/b", "/c"),
            ("a.com", "a.com", ""),
            ("foo.example.com", "*.example.com", ""),
            ("foo.example.com:443/bar", "*.example.com", ":443/bar"),
            ("*.foo.example.com", "*.example.com", ""),
        ] {
            assert_eq!(remainder(inner, outer), rest, "{inner} {outer}");
        }
    }
}
