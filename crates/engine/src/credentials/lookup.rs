//! The lookup of containers/image in one auth file: which entry answers for a repository, and with what.

use std::collections::HashMap;

use thiserror::Error;

use super::credential::{AuthFieldError, Credential};
use super::document::{Document, DocumentError, Format};
use super::entry::AuthEntry;
use crate::reference::{DOCKER_HUB, DOCKER_HUB_INDEX, canonical_host};

/// What the runtime finds in a file for one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// The runtime runs `docker-credential-<name>` with the host, and the result is final.
    Helper {
        /// The helper.
        name: &'a str,
    },
    /// The runtime uses this credential.
    Found {
        /// The key of the entry.
        key: &'a str,
        /// The credential.
        credential: Credential,
    },
    /// The runtime continues without a credential.
    None {
        /// The entry that ended the search although it holds no credential.
        stopped_at: Option<&'a str>,
    },
    /// The runtime fails the pull.
    Failed(LookupError),
}

/// Why the runtime fails a lookup, with its own message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LookupError {
    /// The requested key is a URL.
    #[error("key {0} contains http[s]:// prefix")]
    Scheme(String),
    /// The requested key has a digest.
    #[error("key {0} contains a '@' character")]
    At(String),
    /// The requested key has a tag.
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
/// A lookup takes one probe for each component of the repository and scans nothing.
#[derive(Debug, Clone)]
pub struct AuthFile {
    document: Document,
    /// The key that answers for a host if no key is a prefix of the repository, by normalised host.
    by_host: HashMap<String, String>,
}

/// A file in the old `.dockercfg` format. It has its own type because its keys name only hosts.
#[derive(Debug, Clone)]
pub struct LegacyAuthFile(AuthFile);

/// The result of a search.
pub(super) enum Hit<'a> {
    Helper(&'a str),
    Entry {
        key: &'a str,
        entry: &'a AuthEntry,
        /// Found by host, not by a key that is the repository or a parent of it.
        by_host: bool,
    },
    Nothing,
}

impl AuthFile {
    /// Parses a file as the runtime does: a single value of a wrong type refuses the whole file.
    ///
    /// # Errors
    /// If the runtime would refuse the file, which fails every pull that consults it.
    pub fn parse(text: &[u8]) -> Result<Self, DocumentError> {
        Self::new(Document::parse(text, Format::Auths)?)
    }

    /// Returns the content of a missing file.
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
                // Keys come in byte order, so the smallest one is kept. Go picks an arbitrary one.
                by_host.entry(host.to_owned()).or_insert_with(|| key.to_owned());
            }
        }
        Ok(Self { document, by_host })
    }

    /// Returns the parsed document.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Looks up `repository`, which is `host[:port][/path]` without tag and digest.
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

    /// Finds the entry that decides for `repository`. The first key that exists is final, even if it holds no
    /// credential.
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

    /// Returns the entries whose key is `repository` or a parent of it, most specific first.
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
    /// Parses a file of the old format as the runtime does.
    ///
    /// # Errors
    /// If the runtime would refuse the file.
    pub fn parse(text: &[u8]) -> Result<Self, DocumentError> {
        AuthFile::new(Document::parse(text, Format::Legacy)?).map(Self)
    }

    /// Looks up the host of `repository`.
    #[must_use]
    pub fn lookup(&self, repository: &str) -> Lookup<'_> {
        self.0.lookup(repository)
    }
}

/// Returns the host of a repository, including its port.
pub(super) fn host_of(repository: &str) -> &str {
    repository.split_once('/').map_or(repository, |(host, _)| host)
}

/// Checks whether the runtime accepts `key` for a lookup.
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

/// Returns the host that a key stands for when keys are compared as hosts. Both schemes are stripped, one after the
/// other.
pub(super) fn host_of_key(key: &str, legacy: bool) -> &str {
    let stripped = key.strip_prefix("http://").unwrap_or(key);
    let stripped = stripped.strip_prefix("https://").unwrap_or(stripped);
    let host = if legacy || stripped.len() < key.len() { host_of(stripped) } else { stripped };
    normalised(host)
}

/// Returns the host under the one name that the runtime uses for Docker Hub.
fn normalised(host: &str) -> &str {
    if canonical_host(host) == DOCKER_HUB { DOCKER_HUB_INDEX } else { host }
}
