//! Scopes: which texts are one, which scope lies inside which, and finding those around a scope without trying
//! every one.
//!
//! Two relations, and both are needed. A scope lies *inside* another (`quay.io/a` inside `quay.io`, `a.example.com`
//! inside `*.example.com`, but `quay.io:443` not inside `quay.io`, which is another registry): by this, rules reach
//! the scopes below them. And an entry of the file *governs* a name, by the library's own matching, which does
//! let `quay.io` govern `quay.io:443/a`: by this, a node pulls.

use std::collections::HashMap;

use crate::reference::{Dialect, is_domain, is_path};

/// Whether `text` can be a source: `*.host`, or what can be a mirror.
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

/// What follows the `*` of a scope that stands for subdomains.
pub(super) fn wildcard_suffix(scope: &str) -> Option<&str> {
    scope.strip_prefix('*')
}

/// The host of a scope, without port and path; of `*.example.com` all of it.
pub(super) fn host_name(scope: &str) -> &str {
    &scope[..scope.find([':', '/']).unwrap_or(scope.len())]
}

/// What stays of `inner` when the part that `outer` stands for is cut off: what the library appends to a mirror of
/// `outer` for names in `inner`.
pub(super) fn remainder<'a>(inner: &'a str, outer: &str) -> &'a str {
    let covered = if wildcard_suffix(outer).is_some() { host_name(inner).len() } else { outer.len() };
    inner.get(covered..).unwrap_or_default()
}

/// Something for each of many scopes.
#[derive(Debug)]
pub(super) struct ScopeMap<'a, T> {
    literals: HashMap<&'a str, T>,
    /// Keyed by what follows the `*`.
    wildcards: HashMap<&'a str, T>,
}

impl<'a, T: Copy> ScopeMap<'a, T> {
    /// A map with room for so many.
    pub(super) fn with_capacity(scopes: usize) -> Self {
        Self { literals: HashMap::with_capacity(scopes), wildcards: HashMap::new() }
    }

    /// The value of a scope; `new`, from now on, if it has none.
    pub(super) fn get_or_insert(&mut self, scope: &'a str, new: T) -> T {
        let (map, key) = match wildcard_suffix(scope) {
            Some(suffix) => (&mut self.wildcards, suffix),
            None => (&mut self.literals, scope),
        };
        *map.entry(key).or_insert(new)
    }

    /// The values of `scope` and of all scopes that it lies inside, the most specific first.
    pub(super) fn around<'s>(&'s self, scope: &'s str) -> impl Iterator<Item = T> + 's {
        let shorter = scope.rmatch_indices('/').map(|(end, _)| &scope[..end]);
        let literal = std::iter::once(scope).chain(shorter).filter(|_| !self.literals.is_empty());
        let host = if self.wildcards.is_empty() { "" } else { host_name(scope) };
        let suffixes = host.match_indices('.').map(move |(start, _)| &host[start..]);
        literal
            .filter_map(|part| self.literals.get(part).copied())
            .chain(suffixes.filter_map(|suffix| self.wildcards.get(suffix).copied()))
    }

    /// The value of the scope whose entry a node uses for a name: of those that the library takes to match, the one
    /// with the longest text, and of two as long the wildcard.
    pub(super) fn governing(&self, name: &str) -> Option<T> {
        let shorter = name.rmatch_indices(['/', ':']).map(|(end, _)| &name[..end]);
        let literal = std::iter::once(name)
            .chain(shorter)
            .find_map(|part| Some((part.len(), self.literals.get(part).copied()?)));
        let host = host_name(name);
        let wildcard = host.match_indices('.').find_map(|(start, _)| {
            let suffix = &host[start..];
            let value = self.wildcards.get(suffix).copied()?;
            // The library looks at the first occurrence of the suffix only: `a.x.io.x.io` is not under `*.x.io`.
            (name.find(suffix) == Some(start)).then_some((suffix.len() + 1, value))
        });
        match (literal, wildcard) {
            (Some((literal, value)), Some((wildcard, _))) if literal > wildcard => Some(value),
            (_, Some((_, value))) | (Some((_, value)), None) => Some(value),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_inside(inner: &str, outer: &str) -> bool {
        let mut map = ScopeMap::with_capacity(1);
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
        let mut map = ScopeMap::with_capacity(0);
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
        let mut map = ScopeMap::with_capacity(0);
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
            assert_eq!(map.governing(name), scope, "{name}");
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
