//! The reasons why containerd refuses a `hosts.toml`. containerd then continues as if the file did not exist.

use std::ops::Range;

use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::duration::DurationError;
use pullwright_golang::quote::quote;
use pullwright_golang::url::UrlError;

/// The reason why containerd refuses a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct HostsError {
    /// The path in the document.
    pub at: DocPath,
    /// The position in the text, for invalid TOML, which has no paths.
    pub span: Option<Range<usize>>,
    /// The problem.
    pub problem: HostsProblem,
}

/// A problem with a file; the message is containerd's own, except for decoding errors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostsProblem {
    /// Not TOML.
    #[error("{0}")]
    Syntax(String),
    /// A value of the wrong type.
    #[error("expected {expected}, found {found}")]
    Type {
        /// The type that the field takes.
        expected: &'static str,
        /// The type of the value.
        found: &'static str,
    },
    /// The host is not a valid URL.
    #[error("unable to parse server {server}: {source}")]
    Server {
        /// The host with its scheme.
        server: String,
        /// Go's error.
        source: Box<UrlError>,
    },
    /// The capability is not one of the four.
    #[error("unknown capability {0}")]
    Capability(String),
    /// The value is neither a file nor a list of files.
    #[error("invalid type {found} for {}", quote(field))]
    Files {
        /// `ca` or `client`.
        field: &'static str,
        /// The type of the value.
        found: &'static str,
    },
    /// The list contains something other than strings.
    #[error("unable to cast {0} to string")]
    NotText(&'static str),
    /// The pair of a certificate and its key does not have two items.
    #[error("invalid pair of {0} for \"client\"")]
    Pair(usize),
    /// The value is neither a string nor a list of strings.
    #[error("invalid type {found} for header {}", quote(header))]
    Header {
        /// The name of the header.
        header: String,
        /// The type of the value.
        found: &'static str,
    },
    /// The time limit is not in Go's notation.
    #[error(transparent)]
    DialTimeout(#[from] DurationError),
}

impl HostsError {
    pub(super) fn at(at: DocPath, problem: impl Into<HostsProblem>) -> Self {
        Self { at, span: None, problem: problem.into() }
    }

    /// Reports the refusal.
    #[must_use]
    pub fn finding(&self) -> Finding {
        Finding::new(&rules::containerd::REFUSED, self.at.clone(), self.to_string())
    }
}
