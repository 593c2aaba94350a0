//! What is done about a short name that may stand for several images, and who says so.

use std::path::PathBuf;

use serde::Serialize;

/// What to do about names without a registry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShortNameMode {
    /// More than one candidate is an error where nobody can be asked.
    Enforcing,
    /// All candidates in order where nobody can be asked.
    #[default]
    Permissive,
    /// All candidates in order.
    Disabled,
}

impl ShortNameMode {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "enforcing" => Some(Self::Enforcing),
            "permissive" => Some(Self::Permissive),
            "disabled" => Some(Self::Disabled),
            _ => None,
        }
    }

    /// The value as it stands in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforcing => "enforcing",
            Self::Permissive => "permissive",
            Self::Disabled => "disabled",
        }
    }
}

/// The mode that decides, and who says so.
///
/// CRI-O (1.34 and newer) sets it for the library by itself, so that `short-name-mode` of `registries.conf` does not count there:
/// enforcing, unless its own configuration says `short_name_mode = "disabled"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortNameRule {
    /// The mode.
    pub mode: ShortNameMode,
    /// The file that says so; none if it is CRI-O's default, or asked for by a person.
    pub origin: Option<PathBuf>,
}

impl Default for ShortNameRule {
    /// What CRI-O does if nobody tells it otherwise.
    fn default() -> Self {
        Self { mode: ShortNameMode::Enforcing, origin: None }
    }
}
