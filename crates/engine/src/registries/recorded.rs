//! `short-name-aliases.conf`: the short-name choices that users of the node made. Podman writes it and CRI-O reads it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::candidates::check_aliases;
use super::decode::decode_aliases;
use super::problem::{ConfError, Problem, lines};
use super::{Alias, LoaderEnv};
use pullwright_golang::quote::quote;

/// The recorded aliases. They take precedence over those of every `registries.conf`. A broken file fails every short
/// name but nothing else, so the error is kept until a short name is resolved.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    aliases: BTreeMap<String, Alias>,
    fault: Option<UnreadableAliases>,
}

/// Why the recorded aliases cannot be read. Uses the library's wording, except for TOML decoding errors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("loading short-name aliases config file {}: {problem}", quote(&path.to_string_lossy()))]
pub struct UnreadableAliases {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub problem: String,
}

impl Recorded {
    /// Reads the text of the file at `path`.
    #[must_use]
    pub fn parse(path: PathBuf, text: &str) -> Self {
        match decode_aliases(text).and_then(check_aliases) {
            Ok(targets) => {
                let alias = |(name, target)| (name, Alias { target, origin: path.clone() });
                Self { aliases: targets.into_iter().map(alias).collect(), fault: None }
            }
            // In this case, the library does not mention that it was validating.
            Err(ConfError { problem: Problem::Aliases(faults), .. }) => {
                Self::unreadable(path, lines(&faults))
            }
            Err(error) => Self::unreadable(path, error.to_string()),
        }
    }

    /// A file that exists but cannot be read.
    #[must_use]
    pub fn unreadable(path: PathBuf, problem: String) -> Self {
        Self { aliases: BTreeMap::new(), fault: Some(UnreadableAliases { path, problem }) }
    }

    pub(super) fn alias(&self, name: &str) -> Result<Option<&Alias>, UnreadableAliases> {
        match &self.fault {
            None => Ok(self.aliases.get(name)),
            Some(fault) => Err(fault.clone()),
        }
    }
}

impl LoaderEnv {
    /// Returns where aliases are recorded: one file for root, and one in the cache folder of every other user.
    #[must_use]
    pub fn recorded_aliases(&self) -> Option<PathBuf> {
        let cache = match (self.uid, &self.xdg_cache_home, &self.home) {
            (0, ..) => PathBuf::from("/var/cache"),
            (_, Some(cache), _) => cache.clone(),
            (_, None, Some(home)) => home.join(".cache"),
            (_, None, None) => return None,
        };
        Some(cache.join("containers/short-name-aliases.conf"))
    }
}
