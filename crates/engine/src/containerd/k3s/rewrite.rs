//! The rewrites of `registries.yaml` that are plain prefixes: regular expressions in form only.

/// Names that begin with `from` begin with `to` instead. An empty prefix is every name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rewrite {
    pub(super) from: String,
    pub(super) to: String,
}

impl Rewrite {
    /// Every name as it is.
    pub(super) const NONE: Self = Self { from: String::new(), to: String::new() };

    /// Reads `^from/(.*)$` and `to/$1`, with and without the anchors that change nothing.
    pub(super) fn parse(pattern: &str, replacement: &str) -> Option<Self> {
        let pattern = pattern.strip_suffix('$').unwrap_or(pattern).strip_suffix("(.*)")?;
        let replacement = replacement.strip_suffix("$1").or_else(|| replacement.strip_suffix("${1}"))?;
        let from = match pattern.strip_prefix('^') {
            Some(prefix) => prefix.replace("\\.", "."),
            // Without the anchor it would also be found in the middle of a name.
            None => pattern.is_empty().then(String::new)?,
        };
        // What is left of the expression must not be one.
        if pattern.replace("\\.", "").contains('.') {
            return None;
        }
        Some(Self { from: prefix(&from)?, to: prefix(replacement)? })
    }

    /// Whether some names are matched by both, of which K3s then takes either.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let covers = |outer: &str, inner: &str| {
            outer.is_empty()
                || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        covers(&self.from, &other.from) || covers(&other.from, &self.from)
    }
}

/// Whole parts of a name, without the slash at their end.
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
        assert!(rewrite("a").overlaps(&rewrite("a/b")));
        assert!(rewrite("a/b").overlaps(&rewrite("")));
        assert!(!rewrite("a").overlaps(&rewrite("ab")));
    }
}
