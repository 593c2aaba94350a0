//! Why the loader refuses a file: its own words, the place, and what to do.

use std::ops::Range;

use crate::finding::{DocPath, Finding};
use crate::go::quote::quote;

/// Why the loader refuses a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ConfError {
    /// Where in the document.
    pub at: DocPath,
    /// Which bytes, for a text that is no TOML and so has no places.
    pub span: Option<Range<usize>>,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a file; displays as the loader's own words but for decoding errors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
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
    /// A number that does not fit into 64 bits, or a time that there is not.
    #[error("{0} is out of range")]
    OutOfRange(String),
    /// The format of before 2018. The text is the same file in the format of today.
    #[error("registries.conf must be in v2 format but is in v1")]
    Version1 {
        /// What to write instead.
        converted: String,
    },
    /// `http://` or `https://` before a location.
    #[error("invalid location '{0}': URI schemes are not supported")]
    Scheme(String),
    /// Nothing to match by.
    #[error("invalid condition: both location and prefix are unset")]
    NeitherLocationNorPrefix,
    /// Only subdomain wildcards may do without a location.
    #[error("invalid condition: location is unset and prefix is not in the format: *.example.com")]
    NoLocation,
    /// The setting belongs to mirrors.
    #[error("pull-from-mirror must not be set for a non-mirror registry {}", quote(.0))]
    PullFromMirrorOnRegistry(String),
    /// A mirror that is nowhere.
    #[error("invalid condition: mirror location is unset")]
    NoMirrorLocation,
    /// Two settings for one thing.
    #[error(
        "cannot set mirror usage mirror-by-digest-only for the registry ({}) and pull-from-mirror for \
         per-mirror ({}) at the same time",
        quote(prefix),
        quote(mirror)
    )]
    MirrorUseTwice {
        /// The registry's prefix.
        prefix: String,
        /// The mirror's location.
        mirror: String,
    },
    /// Not `all`, `digest-only` or `tag-only`.
    #[error("unsupported pull-from-mirror value {} for mirror {}", quote(value), quote(mirror))]
    PullFromMirrorValue {
        /// What stands there.
        value: String,
        /// The mirror's location.
        mirror: String,
    },
    /// One location, two opinions.
    #[error("registry '{location}' is defined multiple times with conflicting '{setting}' setting")]
    Conflict {
        /// The location; empty for a wildcard without one.
        location: String,
        /// `insecure` or `blocked`.
        setting: &'static str,
    },
    /// A search registry is a host, not a path.
    #[error("Invalid unqualified-search-registries entry {}", quote(.0))]
    SearchRegistry(String),
    /// Not `enforcing`, `permissive` or `disabled`.
    #[error("invalid short-name mode: {}", quote(.0))]
    ShortNameMode(String),
    /// A wildcard with port, path or digest.
    #[error(
        "Wildcarded prefix should be in the format: *.example.com. Current prefix {} is incorrectly formatted",
        quote(.0)
    )]
    Wildcard(String),
    /// All that is wrong with the aliases, a line each.
    #[error("validating short-name aliases: {}", .0.join("\n"))]
    Aliases(Vec<String>),
}

impl Problem {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Version1 { converted } => {
                format!("the [registries.*] lists are no longer read; write instead:\n\n{converted}")
            }
            Self::Scheme(text) => {
                let bare = text.trim_start_matches("https://").trim_start_matches("http://");
                format!("write {}, and insecure = true for plain HTTP", quote(bare))
            }
            Self::NeitherLocationNorPrefix => "add location = \"registry.example.com\"".to_owned(),
            Self::NoLocation => "add a location; it may be the same as the prefix".to_owned(),
            Self::PullFromMirrorOnRegistry(_) => "move it into [[registry.mirror]]".to_owned(),
            Self::NoMirrorLocation => "add a location to this [[registry.mirror]]".to_owned(),
            Self::MirrorUseTwice { .. } => {
                "keep pull-from-mirror and remove mirror-by-digest-only".to_owned()
            }
            Self::PullFromMirrorValue { .. } => "use all, digest-only or tag-only".to_owned(),
            Self::Conflict { setting, .. } => format!("give every entry of this location the same {setting}"),
            Self::SearchRegistry(_) => "name a host, with a port if need be, and no path".to_owned(),
            Self::ShortNameMode(_) => "use enforcing, permissive or disabled".to_owned(),
            Self::Wildcard(_) => "leave out port and path; a wildcard stands for subdomains only".to_owned(),
            Self::Syntax(_) | Self::Type { .. } | Self::OutOfRange(_) | Self::Aliases(_) => return None,
        })
    }
}

impl From<&ConfError> for Finding {
    fn from(error: &ConfError) -> Self {
        Self {
            help: error.problem.help(),
            ..Self::error("registries/refused", error.at.clone(), error.to_string())
        }
    }
}

/// A refusal at a place of the document.
pub(super) fn refuse(at: DocPath, problem: Problem) -> ConfError {
    ConfError { at, span: None, problem }
}
