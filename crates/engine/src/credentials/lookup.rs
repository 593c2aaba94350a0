//! containers/image's lookup in one auth file: which entry answers for a repository, and with what.

use std::collections::HashMap;

use thiserror::Error;

use super::credential::{AuthFieldError, Credential};
use super::document::{Document, DocumentError, Format};
use super::entry::AuthEntry;
use crate::reference::{DOCKER_HUB, DOCKER_HUB_INDEX, canonical_host};

/// What the runtime finds in a file for one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// It runs `docker-credential-<name>` with the host, and whatever that says is final.
    Helper {
        /// The helper.
        name: &'a str,
    },
    /// It uses this credential.
    Found {
        /// The key of the entry.
        key: &'a str,
        /// The credential.
        credential: Credential,
    },
    /// It goes on without a credential.
    None {
        /// The entry that ended the search although it holds nothing.
        stopped_at: Option<&'a str>,
    },
    /// It fails the pull.
    Failed(LookupError),
}

/// Why the runtime fails a lookup, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LookupError {
    /// What was asked for is a URL.
    #[error("key {0} contains http[s]:// prefix")]
    Scheme(String),
    /// What was asked for has a digest.
    #[error("key {0} contains a '@' character")]
    At(String),
    /// What was asked for has a tag.
    #[error("key {0} contains a ':' character after host[:port]")]
    Colon(String),
    /// The entry cannot be decoded.
    #[error("{error}")]
    Entry {
        /// The key of the entry.
        key: String,
        /// What is wrong with its `auth`.
        error: AuthFieldError,
    },
}

/// A file in the format of `auth.json` and `config.json`, ready for lookups.
///
/// A lookup costs as many probes as the repository has components; nothing is scanned.
#[derive(Debug, Clone)]
pub struct AuthFile {
    document: Document,
    /// The entry that answers for a host when no key is a prefix of the repository, by normalised host.
    by_host: HashMap<String, String>,
}

/// A file in the old format of `.dockercfg`. A type of its own because its keys mean hosts only.
#[derive(Debug, Clone)]
pub struct LegacyAuthFile(AuthFile);

/// Where a lookup ends.
pub(super) enum Hit<'a> {
    Helper(&'a str),
    Entry {
        key: &'a str,
        entry: &'a AuthEntry,
        /// Found by its host and not by a key that the repository begins with.
        by_host: bool,
    },
    Nothing,
}

impl AuthFile {
    /// Reads a file as the runtime does: one value of a wrong type and all of it is refused.
    ///
    /// # Errors
    /// When the runtime would refuse the file, which fails every pull that consults it.
    pub fn parse(text: &[u8]) -> Result<Self, DocumentError> {
        Self::new(Document::parse(text, Format::Auths)?)
    }

    /// A file that is not there.
    #[must_use]
    pub fn missing() -> Self {
        Self { document: Document::empty(Format::Auths), by_host: HashMap::new() }
    }

    fn new(document: Document) -> Result<Self, DocumentError> {
        if let Some(mismatch) = document.mismatches().first() {
            return Err(mismatch.clone().into());
        }
        let legacy = document.format() == Format::Legacy;
        let mut by_host = HashMap::new();
        for key in document.keys() {
            let host = host_of_key(key, legacy);
            if !host.contains('/') {
                // Keys come in byte order, so the smallest one stays; Go takes any.
                by_host.entry(host.to_owned()).or_insert_with(|| key.to_owned());
            }
        }
        Ok(Self { document, by_host })
    }

    /// What the file says.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Looks `repository` (`host[:port][/path]`, without tag and digest) up.
    #[must_use]
    pub fn lookup(&self, repository: &str) -> Lookup<'_> {
        match self.find(repository) {
            Err(error) => Lookup::Failed(error),
            Ok(Hit::Helper(name)) => Lookup::Helper { name },
            Ok(Hit::Nothing) => Lookup::None { stopped_at: None },
            Ok(Hit::Entry { key, entry, .. }) => match Credential::for_runtime(entry) {
                Ok(Some(credential)) => Lookup::Found { key, credential },
                Ok(None) => Lookup::None { stopped_at: Some(key) },
                Err(error) => Lookup::Failed(LookupError::Entry { key: key.to_owned(), error }),
            },
        }
    }

    /// The entry that decides about `repository`. The first key that exists is final, even when it holds
    /// nothing.
    pub(super) fn find(&self, repository: &str) -> Result<Hit<'_>, LookupError> {
        check_key(repository)?;
        let host = host_of(repository);
        if let Some(name) = self.document.helper(host) {
            return Ok(Hit::Helper(name));
        }
        let exact = match self.document.format() {
            Format::Auths => self.keys_over(repository).next(),
            Format::Legacy => self.document.entry_with_key(host),
        };
        if let Some((key, entry)) = exact {
            return Ok(Hit::Entry { key, entry, by_host: false });
        }
        let by_host = self.by_host.get(normalised(host)).and_then(|key| self.document.entry_with_key(key));
        Ok(by_host.map_or(Hit::Nothing, |(key, entry)| Hit::Entry { key, entry, by_host: true }))
    }

    /// The entries whose key is `repository` or a parent of it, the most specific first.
    pub(super) fn keys_over<'a>(
        &'a self,
        repository: &str,
    ) -> impl Iterator<Item = (&'a str, &'a AuthEntry)> {
        let parents =
            std::iter::successors(Some(repository), |name| name.rfind('/').map(|slash| &name[..slash]));
        parents.filter_map(|name| self.document.entry_with_key(name))
    }
}

impl LegacyAuthFile {
    /// Reads a file of the old format as the runtime does.
    ///
    /// # Errors
    /// When the runtime would refuse the file.
    pub fn parse(text: &[u8]) -> Result<Self, DocumentError> {
        AuthFile::new(Document::parse(text, Format::Legacy)?).map(Self)
    }

    /// Looks up the host of `repository`.
    #[must_use]
    pub fn lookup(&self, repository: &str) -> Lookup<'_> {
        self.0.lookup(repository)
    }
}

/// The host, with its port, of a repository.
pub(super) fn host_of(repository: &str) -> &str {
    repository.split_once('/').map_or(repository, |(host, _)| host)
}

/// Whether the runtime looks `key` up at all.
pub(super) fn check_key(key: &str) -> Result<(), LookupError> {
    if key.starts_with("http://") || key.starts_with("https://") {
        return Err(LookupError::Scheme(key.to_owned()));
    }
    if key.contains('@') {
        return Err(LookupError::At(key.to_owned()));
    }
    if key.split_once('/').is_some_and(|(_, path)| path.contains(':')) {
        return Err(LookupError::Colon(key.to_owned()));
    }
    Ok(())
}

/// The host that a key stands for when keys are compared as hosts. Both schemes are stripped, one after the
/// other.
pub(super) fn host_of_key(key: &str, legacy: bool) -> &str {
    let stripped = key.strip_prefix("http://").unwrap_or(key);
    let stripped = stripped.strip_prefix("https://").unwrap_or(stripped);
    let host = if legacy || stripped.len() < key.len() { host_of(stripped) } else { stripped };
    normalised(host)
}

/// The runtime's one name for Docker Hub.
fn normalised(host: &str) -> &str {
    if canonical_host(host) == DOCKER_HUB { DOCKER_HUB_INDEX } else { host }
}
