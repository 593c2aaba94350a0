//! The part of a Secret that can be used to pull.

use super::credential::Credential;
use super::document::{DocumentError, Entries, Format};
use super::scope::{Scope, ScopeError, shown};
use super::secret::{PULL_SECRETS, Secret, SecretError, SecretName};
use super::wanted::WantedRepositories;
use pullwright_findings::{DocPath, Finding, rules};

/// The longest key that is considered. A repository has at most 255 characters and so does its host, so no longer key
/// covers one.
const LONGEST_KEY: usize = 1024;

/// How much of a Secret is read.
struct Reach {
    /// The maximum number of entries. The first ones count.
    entries: usize,
    /// The maximum number of findings to keep. Further ones are only counted.
    findings: usize,
}

impl Reach {
    /// For a user who asked about this Secret.
    const ALL: Self = Self { entries: usize::MAX, findings: usize::MAX };
    /// For a pull, which must not depend on what somebody put into a namespace. A Secret has room for a hundred
    /// thousand empty entries, or for about ten thousand credentials.
    const PULL: Self = Self { entries: 10_000, findings: 3 };
}

/// The document in a pull secret.
struct PullSecretContent<'a> {
    key: &'static str,
    format: Format,
    bytes: &'a [u8],
}

impl<'a> PullSecretContent<'a> {
    /// Returns the document in a Secret of type `kind`. `data` returns the value of a key.
    fn of(kind: &str, data: impl FnOnce(&str) -> Option<&'a [u8]>) -> Result<Self, SecretError> {
        let known = PULL_SECRETS.into_iter().find(|(known, ..)| *known == kind);
        let (kind, key, format) = known.ok_or_else(|| SecretError::Type { kind: kind.to_owned() })?;
        let bytes = data(key).filter(|bytes| !bytes.is_empty());
        bytes.map(|bytes| Self { key, format, bytes }).ok_or(SecretError::MissingKey { kind, key })
    }

    fn has_both_ends(&self) -> bool {
        let trimmed = self.bytes.trim_ascii();
        trimmed.starts_with(b"{") && trimmed.ends_with(b"}")
    }

    fn refused(&self, error: DocumentError) -> SecretError {
        SecretError::Document { key: self.key, error }
    }
}

/// One usable entry of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopedCredential {
    /// The key as written.
    pub key: String,
    /// The scope that the key was written for.
    pub scope: Scope,
    /// The credential for that scope.
    pub credential: Credential,
}

/// The usable part of a Secret, and the findings about the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullSecret {
    name: SecretName,
    entries: Vec<ScopedCredential>,
    findings: Vec<Finding>,
    more_findings: usize,
    unread: usize,
}

impl PullSecret {
    /// Reads everything usable from a Secret. An unusable entry affects only itself and is reported.
    ///
    /// # Errors
    /// If nothing in the Secret can be used.
    pub fn read(secret: &Secret) -> Result<Self, SecretError> {
        let value = |key: &str| secret.data.get(key).map(|bytes| bytes.expose().as_slice());
        let content = PullSecretContent::of(&secret.kind, value)?;
        Self::from_content(secret.name.clone(), &content, &WantedRepositories::anything(), &Reach::ALL)
    }

    /// Reads what is `wanted`, within limits that hold for any Secret. `data` returns the value of a key. Returns
    /// `None` if the Secret contains nothing wanted; its content then does not matter and is not checked.
    ///
    /// # Errors
    /// If nothing in the Secret can be used.
    pub fn about<'a>(
        wanted: &WantedRepositories<'_>,
        name: impl FnOnce() -> SecretName,
        kind: &str,
        data: impl FnOnce(&str) -> Option<&'a [u8]>,
    ) -> Result<Option<Self>, SecretError> {
        let content = PullSecretContent::of(kind, data)?;
        // A truncated or doubly encoded document is worth reporting, whichever host it was meant for.
        if wanted.may_be_in(content.bytes) || !content.has_both_ends() {
            return Self::from_content(name(), &content, wanted, &Reach::PULL).map(Some);
        }
        Ok(None)
    }

    fn from_content(
        name: SecretName,
        content: &PullSecretContent<'_>,
        wanted: &WantedRepositories<'_>,
        reach: &Reach,
    ) -> Result<Self, SecretError> {
        let document = Entries::parse(content.bytes, content.format, reach.entries)
            .map_err(|error| content.refused(error))?;
        let map = || {
            let value = DocPath::root().key("data").key(content.key);
            if content.format == Format::Auths { value.key("auths") } else { value }
        };
        let mut read = Self {
            name,
            entries: Vec::new(),
            findings: Vec::new(),
            more_findings: 0,
            unread: document.left_out,
        };
        for (key, entry) in &document.by_key {
            let at = || map().key(shown(key));
            match (scope_of(key), Credential::for_secret(entry)) {
                (Ok(scope), Ok(credential)) => {
                    if wanted.has(&scope) {
                        let key = key.clone().into_owned();
                        read.entries.push(ScopedCredential { key, scope, credential });
                    }
                }
                _ if read.findings.len() >= reach.findings => read.more_findings += 1,
                (Err(error), _) => read.findings.push(key_finding(at(), error)),
                (_, Err(error)) => {
                    read.findings.push(Finding::new(&rules::secret::ENTRY, at(), error.to_string()));
                }
            }
        }
        // If a scope has two spellings, the plain one comes first, as in the runtime's lookup.
        read.entries.sort_by(|a, b| {
            let rank = |entry: &ScopedCredential| entry.key != entry.scope.as_str();
            rank(a).cmp(&rank(b)).then_with(|| a.key.cmp(&b.key))
        });
        Ok(read)
    }

    /// Returns the namespace and name of the Secret.
    #[must_use]
    pub fn name(&self) -> &SecretName {
        &self.name
    }

    /// Returns the usable entries. If two keys have the same scope, the one that counts comes first.
    #[must_use]
    pub fn entries(&self) -> &[ScopedCredential] {
        &self.entries
    }

    /// Returns what cannot be used, and why.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the number of further findings that were not kept.
    #[must_use]
    pub fn more_findings(&self) -> usize {
        self.more_findings
    }

    /// Returns how many entries were not read because too many come before them.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.unread
    }
}

fn scope_of(key: &str) -> Result<Scope, ScopeError> {
    if key.len() > LONGEST_KEY { Err(ScopeError::Long) } else { Scope::parse(key) }
}

fn key_finding(at: DocPath, error: ScopeError) -> Finding {
    let finding = Finding::new(&rules::secret::KEY, at, error.to_string());
    match error {
        ScopeError::Wildcard => finding.with_help("add one entry for each host"),
        _ => finding,
    }
}
