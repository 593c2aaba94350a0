//! The mode for short names that can resolve to several images, and where it is set.

use std::path::PathBuf;

use serde::Serialize;

/// How to resolve names without a registry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShortNameMode {
    /// More than one candidate is an error if no user can be prompted.
    Enforcing,
    /// All candidates are tried in order if no user can be prompted.
    #[default]
    Permissive,
    /// All candidates are tried in order.
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

    /// The value as written in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforcing => "enforcing",
            Self::Permissive => "permissive",
            Self::Disabled => "disabled",
        }
    }
}

/// The mode in effect and where it is set.
///
/// CRI-O (1.34 and newer) sets the mode itself, so `short-name-mode` in `registries.conf` has no effect there. The mode
/// is enforcing unless CRI-O's own configuration sets `short_name_mode = "disabled"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortNameRule {
    /// The mode.
    pub mode: ShortNameMode,
    /// The file that sets the mode. `None` if the mode is CRI-O's default or was requested by a user.
    pub origin: Option<PathBuf>,
}

impl Default for ShortNameRule {
    /// CRI-O's default.
    fn default() -> Self {
        Self { mode: ShortNameMode::Enforcing, origin: None }
    }
}
