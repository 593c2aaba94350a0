//! A Secret of the cluster, and what of it can be used to pull.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use super::credential::Credential;
use super::document::{Document, DocumentError, Format};
use super::hosts::Hosts;
use super::scope::{Scope, ScopeError, shown};
use super::sensitive::Sensitive;
use crate::finding::{DocPath, Finding};
use crate::go::base64::{self, CorruptInput};

/// The types of Secrets that hold pull credentials, each with the key it keeps them under and their format.
const PULL_SECRETS: [(&str, &str, Format); 2] = [
    ("kubernetes.io/dockerconfigjson", ".dockerconfigjson", Format::Auths),
    ("kubernetes.io/dockercfg", ".dockercfg", Format::Legacy),
];

/// A Secret's place in the cluster, shown as `namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName {
    /// The namespace.
    pub namespace: String,
    /// The name in it.
    pub name: String,
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl Serialize for SecretName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A Secret as it comes from the cluster or from a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Where it is.
    pub name: SecretName,
    /// Its `type`.
    pub kind: String,
    /// Its data by key, decoded.
    pub data: BTreeMap<String, Sensitive<Vec<u8>>>,
}

/// Why a Secret is not used to pull.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SecretError {
    /// The manifest is not a Secret with a name.
    #[error("the manifest is no Secret with a name")]
    NotASecret,
    /// Another type of Secret.
    #[error("its type {kind} is not one of pull secrets")]
    Type {
        /// Its type.
        kind: String,
    },
    /// The type promises a key that is not there, or is empty. Kubernetes never looks under another type's
    /// key.
    #[error("its type {kind} needs the key {key}, which is missing or empty")]
    MissingKey {
        /// Its type.
        kind: &'static str,
        /// The key that the type prescribes.
        key: &'static str,
    },
    /// The value in a manifest is not a string.
    #[error("{section}.{key} is not a string")]
    DataType {
        /// `data` or `stringData`.
        section: &'static str,
        /// The key in it.
        key: String,
    },
    /// The value in a manifest is not base64.
    #[error("data.{key}: {error}")]
    Data {
        /// The key.
        key: String,
        /// Where it breaks.
        error: CorruptInput,
    },
    /// The value is not an auth document.
    #[error("{key}: {error}")]
    Document {
        /// The key.
        key: &'static str,
        /// What is wrong.
        error: DocumentError,
    },
}

impl SecretError {
    /// The error as something to tell the Secret's owner.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let root = DocPath::root();
        let at = match self {
            Self::NotASecret => root,
            Self::Type { .. } => root.key("type"),
            Self::MissingKey { .. } => root.key("data"),
            Self::DataType { section, key } => root.key(*section).key(key),
            Self::Data { key, .. } => root.key("data").key(key),
            Self::Document { key, .. } => root.key("data").key(*key),
        };
        let finding = Finding::error("secret/unusable", at, self.to_string());
        match self {
            Self::Document { .. } | Self::MissingKey { .. } => {
                finding.with_help("make it with `kubectl create secret docker-registry`")
            }
            _ => finding,
        }
    }
}

impl Secret {
    /// Reads a manifest, JSON or YAML made into values: `data` in base64, and `stringData`, which overrides
    /// it.
    ///
    /// # Errors
    /// When it is no Secret, or the value of a pull secret's key cannot be decoded.
    pub fn from_manifest(manifest: &Value, default_namespace: &str) -> Result<Self, SecretError> {
        let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
        // Items of a list from the API server come without a kind.
        if text("/kind").is_some_and(|kind| kind != "Secret") {
            return Err(SecretError::NotASecret);
        }
        let name = SecretName {
            namespace: text("/metadata/namespace").unwrap_or(default_namespace).to_owned(),
            name: text("/metadata/name").ok_or(SecretError::NotASecret)?.to_owned(),
        };
        let mut data = BTreeMap::new();
        for (_, key, _) in PULL_SECRETS {
            if let Some(bytes) = value_of(manifest, key)? {
                data.insert(key.to_owned(), Sensitive::new(bytes));
            }
        }
        Ok(Self { name, kind: text("/type").unwrap_or("Opaque").to_owned(), data })
    }
}

/// What the API server would store under `key`.
fn value_of(manifest: &Value, key: &str) -> Result<Option<Vec<u8>>, SecretError> {
    let text_in = |section: &'static str| match manifest.get(section).and_then(|section| section.get(key)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(SecretError::DataType { section, key: key.to_owned() }),
    };
    if let Some(text) = text_in("stringData")? {
        return Ok(Some(text.clone().into_bytes()));
    }
    let Some(text) = text_in("data")? else {
        return Ok(None);
    };
    base64::decode(text).map(Some).map_err(|error| SecretError::Data { key: key.to_owned(), error })
}

/// The document that a pull secret holds.
struct Content<'a> {
    key: &'static str,
    format: Format,
    bytes: &'a [u8],
}

impl<'a> Content<'a> {
    /// What a Secret of type `kind` holds; `data` gives the value of a key.
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
    /// What the key was written for.
    pub scope: Scope,
    /// What is shown to the registry there.
    pub credential: Credential,
}

/// A Secret with everything in it that can be used to pull, and what was found on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullSecret {
    name: SecretName,
    entries: Vec<ScopedCredential>,
    findings: Vec<Finding>,
}

impl PullSecret {
    /// Takes what is usable out of a Secret. An entry that is not usable hurts only itself and is reported.
    ///
    /// # Errors
    /// When nothing of the Secret can be used.
    pub fn read(secret: &Secret) -> Result<Self, SecretError> {
        let value = |key: &str| secret.data.get(key).map(|bytes| bytes.expose().as_slice());
        Self::from_content(secret.name.clone(), &Content::of(&secret.kind, value)?)
    }

    /// Like [`Self::read`], where the data of a Secret lies somewhere else: `data` gives the value of a key. Nothing if it
    /// is about none of `hosts`: then nothing in it matters, and what is wrong inside is not looked for.
    ///
    /// # Errors
    /// When nothing of the Secret can be used.
    pub fn about<'a>(
        hosts: &Hosts<'_>,
        name: impl FnOnce() -> SecretName,
        kind: &str,
        data: impl FnOnce(&str) -> Option<&'a [u8]>,
    ) -> Result<Option<Self>, SecretError> {
        let content = Content::of(kind, data)?;
        // What was cut or encoded twice is worth a word, whoever it was meant for.
        if hosts.may_be_named_in(content.bytes) || !content.has_both_ends() {
            return Self::from_content(name(), &content).map(Some);
        }
        Ok(None)
    }

    fn from_content(name: SecretName, content: &Content<'_>) -> Result<Self, SecretError> {
        let document =
            Document::parse(content.bytes, content.format).map_err(|error| content.refused(error))?;
        let map = || {
            let value = DocPath::root().key("data").key(content.key);
            if content.format == Format::Auths { value.key("auths") } else { value }
        };
        let mut entries = Vec::new();
        let mut findings = Vec::new();
        for (key, entry) in document.entries() {
            let at = || map().key(shown(key));
            match (Scope::parse(key), Credential::for_secret(entry)) {
                (Ok(scope), Ok(credential)) => {
                    entries.push(ScopedCredential { key: key.to_owned(), scope, credential });
                }
                (Err(error), _) => findings.push(key_finding(at(), error)),
                (_, Err(error)) => findings.push(Finding::error("secret/entry", at(), error.to_string())),
            }
        }
        // Of two spellings of one scope, the plain one comes first, as in the runtime's lookup.
        entries.sort_by(|a, b| {
            let rank = |entry: &ScopedCredential| entry.key != entry.scope.as_str();
            rank(a).cmp(&rank(b)).then_with(|| a.key.cmp(&b.key))
        });
        Ok(Self { name, entries, findings })
    }

    /// Where the Secret is.
    #[must_use]
    pub fn name(&self) -> &SecretName {
        &self.name
    }

    /// What of it can be used; of two keys for one scope the one that counts comes first.
    #[must_use]
    pub fn entries(&self) -> &[ScopedCredential] {
        &self.entries
    }

    /// What cannot be used, and why.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

fn key_finding(at: DocPath, error: ScopeError) -> Finding {
    let finding = Finding::warning("secret/key", at, error.to_string());
    finding.with_help(match error {
        ScopeError::Wildcard => "add one entry for each host",
        _ => "write the key as host[:port] or host[:port]/namespace",
    })
}
