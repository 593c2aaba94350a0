//! `registries.conf`: where images are pulled from.
//!
//! Follows the loader of containers/image from v5.40 on, quirks included, because CRI-O uses that library to pull.
//! [`ConfFile::parse`] reads each file, [`RegistriesConf::merge`] merges them, [`RegistriesConf::find`] returns the
//! entry that governs a name, and [`RegistriesConf::route`] returns where a pull goes.

mod candidates;
mod change;
mod decode;
mod file;
mod index;
mod lint;
mod locations;
mod merge;
mod problem;
mod recorded;
mod render;
mod short_name_mode;
mod sources;

use serde::Serialize;

pub use candidates::{Candidate, CandidateError, CandidateReason};
pub use change::{Change, Changed, Notice};
pub use file::ConfFile;
pub(crate) use index::{Index, wildcard_suffix};
pub use locations::{LoaderEnv, MainFile, SearchPath};
pub use merge::{Alias, RegistriesConf};
pub use problem::{BadAlias, ConfError, Problem};
pub use recorded::{Recorded, UnreadableAliases};
pub use short_name_mode::{ShortNameMode, ShortNameRule};
pub(crate) use sources::rewrite;
pub use sources::{MirrorUse, NotAsked, PullBy, PullSource, RewriteError, Route, SourceRole};

/// One `[[registry]]` table after loading: the prefix is filled in and trailing slashes are removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Registry {
    /// The prefix that names are matched against: `host[:port][/path]`, or `*.host` for any subdomain.
    pub prefix: String,
    /// Where matching names are pulled from instead of `prefix`. Empty only with a `*.` prefix; names are then pulled
    /// as written.
    #[serde(flatten)]
    pub endpoint: RegistryEndpoint,
    /// Whether pulls from the location are forbidden. Mirrors can still be used.
    pub blocked: bool,
    /// Whether mirrors serve only pulls by digest.
    pub mirror_by_digest_only: bool,
    /// The mirrors, tried in this order before the location.
    pub mirrors: Vec<Mirror>,
}

/// A place that images can be pulled from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RegistryEndpoint {
    /// `host[:port][/path]`.
    pub location: String,
    /// Whether plain HTTP and unverified certificates are accepted.
    pub insecure: bool,
    /// The upstream that a proxying registry should use, sent as the `ns` query parameter. Empty if none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace_proxy: String,
}

/// One `[[registry.mirror]]` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mirror {
    /// Where the mirror is.
    #[serde(flatten)]
    pub endpoint: RegistryEndpoint,
    /// Which pulls the mirror serves. If not set, it serves all pulls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_from_mirror: Option<PullFromMirror>,
}

/// The values of `pull-from-mirror`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PullFromMirror {
    /// Every pull.
    All,
    /// Only pulls by digest.
    DigestOnly,
    /// Only pulls by tag.
    TagOnly,
}

impl PullFromMirror {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "all" => Some(Self::All),
            "digest-only" => Some(Self::DigestOnly),
            "tag-only" => Some(Self::TagOnly),
            _ => None,
        }
    }

    /// The value as written in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::DigestOnly => "digest-only",
            Self::TagOnly => "tag-only",
        }
    }
}

#[cfg(test)]
mod tests;
