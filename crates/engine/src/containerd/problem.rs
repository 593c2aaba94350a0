//! Why containerd refuses a `hosts.toml`. It then goes on as if the file were not there.

use std::ops::Range;

use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::duration::DurationError;
use pullwright_golang::quote::quote;
use pullwright_golang::url::UrlError;

/// Why containerd refuses a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct HostsError {
    /// Where in the document.
    pub at: DocPath,
    /// Which bytes, for a text that is no TOML and so has no places.
    pub span: Option<Range<usize>>,
    /// What is wrong there.
    pub problem: HostsProblem,
}

/// What is wrong with a file; displays as containerd's own words but for decoding errors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostsProblem {
    /// Not TOML.
    #[error("{0}")]
    Syntax(String),
    /// A value of the wrong type.
    #[error("expected {expected}, found {found}")]
    Type {
        /// What the field takes.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A host that is no URL.
    #[error("unable to parse server {server}: {source}")]
    Server {
        /// The host with its scheme.
        server: String,
        /// Go's words.
        source: Box<UrlError>,
    },
    /// Not one of the four.
    #[error("unknown capability {0}")]
    Capability(String),
    /// Neither a file nor a list of files.
    #[error("invalid type {found} for {}", quote(field))]
    Files {
        /// `ca` or `client`.
        field: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A list with something else than text in it.
    #[error("unable to cast {0} to string")]
    NotText(&'static str),
    /// A certificate and its key are two.
    #[error("invalid pair of {0} for \"client\"")]
    Pair(usize),
    /// Neither text nor a list of texts.
    #[error("invalid type {found} for header {}", quote(header))]
    Header {
        /// Which header.
        header: String,
        /// What stands there.
        found: &'static str,
    },
    /// A time limit in another notation than Go's.
    #[error(transparent)]
    DialTimeout(#[from] DurationError),
}

impl HostsError {
    pub(super) fn at(at: DocPath, problem: impl Into<HostsProblem>) -> Self {
        Self { at, span: None, problem: problem.into() }
    }

    /// The refusal, with what containerd does then.
    #[must_use]
    pub fn finding(&self) -> Finding {
        Finding::new(&rules::containerd::REFUSED, self.at.clone(), self.to_string())
    }
}
