//! Longest-prefix lookup in time that depends on the name alone.
//!
//! A name can only be matched by the texts that end where one of its parts ends, so each of those is looked
//! up in a hash map instead of trying every entry on the name, as the Go library does.

use std::collections::HashMap;

use super::Registry;

/// Where each prefix stands in the list of entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    literals: HashMap<Box<str>, usize>,
    /// Keyed by what follows the `*` of `*.example.com`.
    wildcards: HashMap<Box<str>, usize>,
}

impl Index {
    /// Makes room for so many more entries.
    pub(super) fn reserve(&mut self, entries: usize) {
        self.literals.reserve(entries);
    }

    /// Where the entry of exactly this prefix is; `new`, from now on, if there is none.
    pub(super) fn position(&mut self, prefix: &str, new: usize) -> usize {
        let (map, key) = match wildcard_suffix(prefix) {
            Some(suffix) => (&mut self.wildcards, suffix),
            None => (&mut self.literals, prefix),
        };
        *map.entry(key.into()).or_insert(new)
    }

    /// Where the entry of exactly this prefix is.
    pub(super) fn of(&self, prefix: &str) -> Option<usize> {
        match wildcard_suffix(prefix) {
            Some(suffix) => self.wildcards.get(suffix).copied(),
            None => self.literals.get(prefix).copied(),
        }
    }

    /// The position of the entry with the longest prefix text that matches `name`.
    ///
    /// Of two of the same length the one that sorts first wins: `*.example.com` before `a.example.com`.
    pub(super) fn find(&self, name: &str, registries: &[Registry]) -> Option<usize> {
        let rank = |position: &usize| {
            let prefix = registries[*position].prefix.as_str();
            (prefix.len(), std::cmp::Reverse(prefix))
        };
        self.literal(name).into_iter().chain(self.wildcard(name)).max_by_key(rank)
    }

    fn literal(&self, name: &str) -> Option<usize> {
        if self.literals.is_empty() {
            return None;
        }
        let shorter = name.rmatch_indices(is_boundary).map(|(end, _)| &name[..end]);
        std::iter::once(name)
            .chain(shorter)
            // An empty prefix can be configured and matches nothing.
            .filter(|part| !part.is_empty())
            .find_map(|part| self.literals.get(part).copied())
    }

    fn wildcard(&self, name: &str) -> impl Iterator<Item = usize> {
        let host = if self.wildcards.is_empty() { "" } else { name.split('/').next().unwrap_or_default() };
        host.match_indices('.').filter_map(move |(start, _)| {
            let end = name[start..].find(is_boundary).map_or(name.len(), |length| start + length);
            let suffix = &name[start..end];
            let position = self.wildcards.get(suffix).copied()?;
            // The library looks at the first occurrence of the suffix only: `a.x.io.x.io` is not under `*.x.io`.
            (name.find(suffix) == Some(start)).then_some(position)
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
pub(super) fn wildcard_suffix(prefix: &str) -> Option<&str> {
    prefix.strip_prefix('*').filter(|suffix| suffix.starts_with('.'))
}

/// Where a part of a reference ends. The colon makes `example.com` match `example.com:5000`, which its authors
/// call unintended and have kept.
fn is_boundary(c: char) -> bool {
    matches!(c, ':' | '/' | '@')
}
