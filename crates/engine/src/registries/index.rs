//! Longest-prefix lookup whose cost depends only on the length of the name.
//!
//! Only a prefix that ends where a part of the name ends can match the name. So each of those candidates is looked up
//! in a hash map, instead of trying every entry against the name as the Go library does. A name can have a million
//! parts, so all candidates are hashed in one pass: each hash continues the previous one.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher, RandomState};
use std::iter::once;

/// Maps prefixes to values. The prefix texts are stored as `K`.
#[derive(Debug, Clone)]
pub(crate) struct Index<K, V> {
    literals: Texts<K, V>,
    /// Keyed by what follows the `*`, such as `.example.com` for `*.example.com`.
    wildcards: Texts<K, V>,
}

impl<K, V> Default for Index<K, V> {
    fn default() -> Self {
        Self { literals: Texts::default(), wildcards: Texts::default() }
    }
}

impl<K: Borrow<str>, V: Copy> Index<K, V> {
    /// Reserves room for `prefixes` more prefixes.
    pub(crate) fn reserve(&mut self, prefixes: usize) {
        self.literals.by_hash.reserve(prefixes);
    }

    /// Returns the value of exactly this prefix, after inserting `new` if there was none.
    pub(crate) fn get_or_insert<'p>(&mut self, prefix: &'p str, new: V) -> V
    where
        K: From<&'p str>,
    {
        match wildcard_suffix(prefix) {
            Some(suffix) => self.wildcards.get_or_insert(suffix, labels(suffix), new),
            None => self.literals.get_or_insert(prefix, parts(prefix), new),
        }
    }

    /// Returns the value of exactly this prefix.
    pub(super) fn of(&self, prefix: &str) -> Option<V> {
        match wildcard_suffix(prefix) {
            Some(suffix) => self.wildcards.get(self.wildcards.hash(labels(suffix)), suffix),
            None => self.literals.get(self.literals.hash(parts(prefix)), prefix),
        }
    }

    /// Returns the value of the longest prefix that matches `name`.
    ///
    /// If two prefixes have the same length, the one that sorts first wins: `*.example.com` before `a.example.com`.
    pub(crate) fn find(&self, name: &str) -> Option<V> {
        // An empty prefix can be configured and matches nothing.
        let literal = self.literals_of(name, is_boundary).find(|(part, _)| !part.is_empty());
        let wildcard = self.longest_wildcard(name);
        let (Some((prefix, of_literal)), Some((suffix, of_wildcard))) = (literal, wildcard) else {
            return literal.or(wildcard).map(|(_, value)| value);
        };
        let text = || once(b'*').chain(suffix.bytes());
        let is_longer = prefix.len() > 1 + suffix.len();
        let sorts_first = prefix.len() == 1 + suffix.len() && prefix.bytes().lt(text());
        Some(if is_longer || sorts_first { of_literal } else { of_wildcard })
    }

    /// Returns the non-wildcard prefixes that equal `name` or end in it right before a character accepted by `ends_at`,
    /// longest first.
    pub(crate) fn literals_of<'n>(
        &'n self,
        name: &'n str,
        ends_at: impl Fn(char) -> bool + 'n,
    ) -> impl Iterator<Item = (&'n str, V)> {
        let hits = self.literals.hits(parts(name)).into_iter().rev();
        let wanted = hits.filter(move |(end, _)| name[*end..].chars().next().is_none_or(&ends_at));
        wanted.filter_map(|(end, hash)| Some((&name[..end], self.literals.get(hash, &name[..end])?)))
    }

    /// Returns the wildcards that match `host`, as the text after their `*`, longest first.
    pub(crate) fn wildcards_of<'n>(&'n self, host: &'n str) -> impl Iterator<Item = (&'n str, V)> {
        let hits = self.wildcards.hits(labels(host)).into_iter().rev();
        hits.filter_map(|(start, hash)| Some((&host[start..], self.wildcards.get(hash, &host[start..])?)))
    }

    fn longest_wildcard<'n>(&'n self, name: &'n str) -> Option<(&'n str, V)> {
        if self.wildcards.by_hash.is_empty() {
            return None;
        }
        let mut start = 0;
        name.split('/').next()?.split(is_boundary).find_map(|part| {
            let end = start + part.len();
            start = end + 1;
            // The library only looks at the first occurrence of the suffix: `a.x.io.x.io` is not under `*.x.io`.
            let is_first = |suffix: &str| name.find(suffix) == Some(end - suffix.len());
            self.wildcards_of(part).find(|(suffix, _)| is_first(suffix))
        })
    }
}

/// Texts with their values, keyed by hashes that are computed piece by piece.
#[derive(Debug, Clone)]
struct Texts<K, V> {
    /// A secret seed for this map, so that nobody can choose names with colliding hashes.
    seed: RandomState,
    /// If two texts have the same hash, the later one is stored under the next number.
    by_hash: HashMap<u64, (K, V), BuildHasherDefault<Hashed>>,
}

impl<K, V> Default for Texts<K, V> {
    fn default() -> Self {
        Self { seed: RandomState::new(), by_hash: HashMap::default() }
    }
}

impl<K: Borrow<str>, V: Copy> Texts<K, V> {
    fn hash<'p>(&self, pieces: impl Iterator<Item = (usize, &'p str)>) -> u64 {
        let mut hasher = self.seed.build_hasher();
        pieces.for_each(|(_, piece)| hasher.write(piece.as_bytes()));
        hasher.finish()
    }

    /// Returns the positions at which a stored text may end, each with its hash.
    fn hits<'p>(&self, pieces: impl Iterator<Item = (usize, &'p str)>) -> Vec<(usize, u64)> {
        if self.by_hash.is_empty() {
            return Vec::new();
        }
        let mut hasher = self.seed.build_hasher();
        let texts = pieces.map(|(place, piece)| {
            hasher.write(piece.as_bytes());
            (place, hasher.finish())
        });
        texts.filter(|(_, hash)| self.by_hash.contains_key(hash)).collect()
    }

    fn get(&self, mut hash: u64, text: &str) -> Option<V> {
        loop {
            let (found, value) = self.by_hash.get(&hash)?;
            if found.borrow() == text {
                return Some(*value);
            }
            hash = hash.wrapping_add(1);
        }
    }

    fn get_or_insert<'p>(
        &mut self,
        text: &'p str,
        pieces: impl Iterator<Item = (usize, &'p str)>,
        new: V,
    ) -> V
    where
        K: From<&'p str>,
    {
        let mut hash = self.hash(pieces);
        loop {
            match self.by_hash.entry(hash) {
                Entry::Vacant(free) => return free.insert((text.into(), new)).1,
                Entry::Occupied(taken) if taken.get().0.borrow() == text => return taken.get().1,
                Entry::Occupied(_) => hash = hash.wrapping_add(1),
            }
        }
    }
}

/// A hasher for keys that are already hashes.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Splits a name before each boundary and returns each piece with its end.
fn parts(name: &str) -> impl Iterator<Item = (usize, &str)> {
    let ends = name.match_indices(is_boundary).map(|(end, _)| end).chain(once(name.len()));
    let mut start = 0;
    ends.map(move |end| (end, &name[std::mem::replace(&mut start, end)..end]))
}

/// Returns the labels of a host from last to first, each with its dot and its start. The text before the first dot is
/// not included.
fn labels(host: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = host.len();
    host.rmatch_indices('.').map(move |(start, _)| (start, &host[start..std::mem::replace(&mut end, start)]))
}

/// Returns how many bytes of `name` the prefix matches, or `None` if it does not match.
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

/// Returns the text after the `*` of a prefix that matches subdomains.
pub(crate) fn wildcard_suffix(prefix: &str) -> Option<&str> {
    prefix.strip_prefix('*').filter(|suffix| suffix.starts_with('.'))
}

/// Whether a part of a reference ends at this character. The colon makes `example.com` match `example.com:5000`, which
/// the library's authors call unintended but have kept.
fn is_boundary(c: char) -> bool {
    matches!(c, ':' | '/' | '@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_texts_of_one_hash_have_each_its_value() {
        let mut texts: Texts<&str, usize> = Texts::default();
        let same = || once((0, "same"));
        for (value, text) in ["a", "b", "c"].into_iter().enumerate() {
            assert_eq!(texts.get_or_insert(text, same(), value), value);
        }
        assert_eq!(texts.get_or_insert("b", same(), 9), 1);
        let hash = texts.hash(same());
        assert_eq!(["a", "b", "c", "d"].map(|text| texts.get(hash, text)), [Some(0), Some(1), Some(2), None]);
        assert_eq!(texts.hits(same()), [(0, hash)]);
    }

    #[test]
    fn a_prefix_is_found_by_the_parts_before_it_and_a_wildcard_by_the_labels_behind_it() {
        let mut index: Index<&str, &str> = Index::default();
        for prefix in ["", "aa.io", "aa.io:5000", "aa.io/b/c", "*.b.io", "*.io"] {
            index.get_or_insert(prefix, prefix);
            assert_eq!(index.of(prefix), Some(prefix));
        }
        for (name, found) in [
            ("aa.io:5000/x@sha256:0", Some("aa.io:5000")),
            ("aa.io/b/c/d:1", Some("aa.io/b/c")),
            ("aa.io/b/cd", Some("aa.io")),
            ("x.b.io/y", Some("*.b.io")),
            ("x.c.io:5000", Some("*.io")),
            ("b.org", None),
            ("/x", None),
        ] {
            assert_eq!(index.find(name), found, "{name}");
        }
    }
}
