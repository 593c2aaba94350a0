//! The name of a namespace, which is safe to use in a path.

use std::fmt;
use std::str::FromStr;

/// The maximum length of a DNS label.
const LABEL_MAX: usize = 63;

/// A Kubernetes namespace: a DNS-1123 label, so it cannot contain `/` or `..`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(String);

/// The error for a text that cannot be the name of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a namespace: 1 to 63 of a-z, 0-9 and '-', first and last not '-'")]
pub struct NotANamespace(
    /// The text, cut to a readable length: it may come from a token that nobody has verified yet.
    pub String,
);

impl Namespace {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Namespace {
    type Err = NotANamespace;

    fn from_str(text: &str) -> Result<Self, NotANamespace> {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let is_label = (1..=LABEL_MAX).contains(&text.len())
            && text.bytes().all(inner)
            && !text.starts_with('-')
            && !text.ends_with('-');
        if is_label {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotANamespace(text.chars().take(LABEL_MAX + 1).collect()))
        }
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dns_label_is_a_namespace() {
        for bad in
            ["", "-a", "a-", "A", "a.b", "a/b", "..", "../a", "a\0", "a\n", "a b", "é", &"a".repeat(64)]
        {
            assert!(bad.parse::<Namespace>().is_err(), "{bad:?}");
        }
        for good in ["a", "0", "app-team-alpha", &"a".repeat(63)] {
            assert!(good.parse::<Namespace>().is_ok(), "{good:?}");
        }
    }

    #[test]
    fn a_megabyte_of_nonsense_does_not_end_up_in_a_log() {
        let error = "x".repeat(1 << 20).parse::<Namespace>().unwrap_err();
        assert!(error.to_string().len() < 200);
    }
}
