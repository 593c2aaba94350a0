//! Longest-prefix lookup in time that depends on the name alone.
//!
//! A name can only be matched by the texts that end where one of its parts ends, so each of those is looked
//! up in a hash map instead of trying every entry on the name, as the Go library does.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::iter::once;

/// A value for each of many prefixes, whose texts are kept as `K`.
#[derive(Debug, Clone)]
pub(crate) struct Index<K, V> {
    literals: HashMap<K, V>,
    /// Keyed by what follows the `*` of `*.example.com`.
    wildcards: HashMap<K, V>,
}

impl<K, V> Default for Index<K, V> {
    fn default() -> Self {
        Self { literals: HashMap::new(), wildcards: HashMap::new() }
    }
}

impl<K: Borrow<str> + Eq + Hash, V: Copy> Index<K, V> {
    /// Makes room for so many more prefixes.
    pub(crate) fn reserve(&mut self, prefixes: usize) {
        self.literals.reserve(prefixes);
    }

    /// The value of exactly this prefix; `new`, from now on, if there is none.
    pub(crate) fn get_or_insert<'p>(&mut self, prefix: &'p str, new: V) -> V
    where
        K: From<&'p str>,
    {
        let (map, key) = match wildcard_suffix(prefix) {
            Some(suffix) => (&mut self.wildcards, suffix),
            None => (&mut self.literals, prefix),
        };
        *map.entry(key.into()).or_insert(new)
    }

    /// The value of exactly this prefix.
    pub(super) fn of(&self, prefix: &str) -> Option<V> {
        wildcard_suffix(prefix).map_or_else(|| self.literal(prefix), |suffix| self.wildcard(suffix))
    }

    /// The value of exactly this prefix, which is no wildcard.
    pub(crate) fn literal(&self, prefix: &str) -> Option<V> {
        self.literals.get(prefix).copied()
    }

    /// The value of the wildcard whose `*` this follows.
    pub(crate) fn wildcard(&self, suffix: &str) -> Option<V> {
        self.wildcards.get(suffix).copied()
    }

    /// The value of the longest prefix text that matches `name`.
    ///
    /// Of two of the same length the one that sorts first wins: `*.example.com` before `a.example.com`.
    pub(crate) fn find(&self, name: &str) -> Option<V> {
        let (literal, wildcard) = (self.longest_literal(name), self.longest_wildcard(name));
        let (Some((prefix, of_literal)), Some((suffix, of_wildcard))) = (literal, wildcard) else {
            return literal.or(wildcard).map(|(_, value)| value);
        };
        let text = || once(b'*').chain(suffix.bytes());
        let is_longer = prefix.len() > 1 + suffix.len();
        let sorts_first = prefix.len() == 1 + suffix.len() && prefix.bytes().lt(text());
        Some(if is_longer || sorts_first { of_literal } else { of_wildcard })
    }

    fn longest_literal<'n>(&self, name: &'n str) -> Option<(&'n str, V)> {
        if self.literals.is_empty() {
            return None;
        }
        let shorter = name.rmatch_indices(is_boundary).map(|(end, _)| &name[..end]);
        once(name)
            .chain(shorter)
            // An empty prefix can be configured and matches nothing.
            .filter(|part| !part.is_empty())
            .find_map(|part| Some((part, self.literal(part)?)))
    }

    fn longest_wildcard<'n>(&self, name: &'n str) -> Option<(&'n str, V)> {
        let host = if self.wildcards.is_empty() { "" } else { name.split('/').next().unwrap_or_default() };
        host.match_indices('.').find_map(|(start, _)| {
            let end = name[start..].find(is_boundary).map_or(name.len(), |length| start + length);
            let suffix = &name[start..end];
            let value = self.wildcard(suffix)?;
            // The library looks at the first occurrence of the suffix only: `a.x.io.x.io` is not under `*.x.io`.
            (name.find(suffix) == Some(start)).then_some((suffix, value))
        })
    }
}

/// How much of `name` the prefix matches, in bytes; `None` if it does not.
pub(super) fn matched(name: &str, prefix: &str) -> Option<usize> {
    let end = match wildcard_suffix(prefix) {
        Some(suffix) => {
            let start = name.find(suffix)?;
            if name[..start].contains('/') {
                return None;
            }
            start + suffix.len()
        }
        None => name.starts_with(prefix).then_some(prefix.len())?,
    };
    (end == name.len() || name[end..].starts_with(is_boundary)).then_some(end)
}

/// What follows the `*` of a prefix that stands for subdomains.
pub(crate) fn wildcard_suffix(prefix: &str) -> Option<&str> {
    prefix.strip_prefix('*').filter(|suffix| suffix.starts_with('.'))
}

/// Where a part of a reference ends. The colon makes `example.com` match `example.com:5000`, which its authors
/// call unintended and have kept.
fn is_boundary(c: char) -> bool {
    matches!(c, ':' | '/' | '@')
}
