//! The rewrites of `registries.yaml` that are plain prefixes, although they are written as regular expressions.

use std::collections::BTreeSet;

/// Replaces `from` at the beginning of names with `to`. An empty prefix matches every name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rewrite {
    pub(super) from: String,
    pub(super) to: String,
}

impl Rewrite {
    /// Leaves every name as it is.
    pub(super) const NONE: Self = Self { from: String::new(), to: String::new() };

    /// Parses `^from/(.*)$` and `to/$1`, with or without the anchors that change nothing.
    pub(super) fn parse(pattern: &str, replacement: &str) -> Option<Self> {
        let pattern = pattern.strip_suffix('$').unwrap_or(pattern).strip_suffix("(.*)")?;
        let replacement = replacement.strip_suffix("$1").or_else(|| replacement.strip_suffix("${1}"))?;
        let from = match pattern.strip_prefix('^') {
            Some(prefix) => prefix.replace("\\.", "."),
            // Without the anchor, the expression would also match in the middle of a name.
            None => pattern.is_empty().then(String::new)?,
        };
        // The rest must not contain any regular expression syntax.
        if pattern.replace("\\.", "").contains('.') {
            return None;
        }
        Some(Self { from: prefix(&from)?, to: prefix(replacement)? })
    }
}

/// Rewrites of which no two match the same name: if two do, it is undefined which one K3s uses.
#[derive(Debug, Default)]
pub(super) struct Apart(BTreeSet<String>);

impl Apart {
    /// Adds a rewrite; returns false if it matches names that another one matches.
    pub(super) fn insert(&mut self, rewrite: &Rewrite) -> bool {
        let names = match rewrite.from.as_str() {
            "" => String::new(),
            from => format!("{from}/"),
        };
        // None of them is a prefix of another, so only the neighbours can overlap with the new one.
        let before = self.0.range(..=names.clone()).next_back();
        let after = self.0.range(names.clone()..).next();
        let overlaps = before.is_some_and(|outer| names.starts_with(outer.as_str()))
            || after.is_some_and(|inner| inner.starts_with(&names));
        !overlaps && self.0.insert(names)
    }
}

/// Returns whole parts of a name, without the trailing slash.
fn prefix(text: &str) -> Option<String> {
    let parts = match text {
        "" => return Some(String::new()),
        text => text.strip_suffix('/')?,
    };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-/".contains(c);
    (!parts.is_empty() && parts.chars().all(plain)).then(|| parts.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_prefixes_are_read_and_others_are_not() {
        let read = |pattern, replacement| {
            Rewrite::parse(pattern, replacement).map(|rewrite| (rewrite.from, rewrite.to))
        };
        let some = |from: &str, to: &str| Some((from.to_owned(), to.to_owned()));
        assert_eq!(read("^(.*)$", "hub/$1"), some("", "hub"));
        assert_eq!(read("(.*)", "hub/${1}"), some("", "hub"));
        assert_eq!(
            read("^rancher/(.*)", "mirror/rancher-images/$1"),
            some("rancher", "mirror/rancher-images")
        );
        assert_eq!(read("^a\\.b/(.*)$", "$1"), some("a.b", ""));
        for (pattern, replacement) in [
            ("rancher/(.*)", "x/$1"),
            ("^ran(.*)", "x/$1"),
            ("^rancher/(.*)", "x-$1"),
            ("^a.b/(.*)", "x/$1"),
            ("^(a|b)/(.*)", "x/$2"),
            ("^rancher/(.*)", "x/y"),
            ("^r+/(.*)", "x/$1"),
        ] {
            assert_eq!(read(pattern, replacement), None, "{pattern} {replacement}");
        }
    }

    #[test]
    fn prefixes_overlap_by_whole_parts() {
        let rewrite = |from: &str| Rewrite { from: from.to_owned(), to: String::new() };
        let are_apart = |froms: &[&str]| {
            let mut apart = Apart::default();
            froms.iter().all(|from| apart.insert(&rewrite(from)))
        };
        assert!(!are_apart(&["a", "a/b"]) && !are_apart(&["a/b", "a"]));
        assert!(!are_apart(&["a/b", ""]) && !are_apart(&["", "a/b"]) && !are_apart(&["a", "a"]));
        assert!(are_apart(&["a", "ab", "a-b", "a.b", "b/c", "b/d"]));
        assert!(!are_apart(&["a", "c", "a.b/x", "a-b", "a/b/c"]));
    }
}
