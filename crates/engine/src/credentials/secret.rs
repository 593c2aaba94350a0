//! A Secret as read from the cluster or a manifest, and why it may not be usable to pull.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use super::document::{DocumentError, Format};
use super::sensitive::Sensitive;
use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::base64::{self, CorruptInput};

/// The types of Secrets that hold pull credentials, each with its data key and format.
pub(super) const PULL_SECRETS: [(&str, &str, Format); 2] = [
    ("kubernetes.io/dockerconfigjson", ".dockerconfigjson", Format::Auths),
    ("kubernetes.io/dockercfg", ".dockercfg", Format::Legacy),
];

/// The namespace and name of a Secret, shown as `namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName {
    /// The namespace.
    pub namespace: String,
    /// The name within the namespace.
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

/// A Secret as read from the cluster or from a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its namespace and name.
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
    /// The key that the type requires is missing or empty. Kubernetes never looks under the key of another type.
    #[error("its type {kind} needs the key {key}, which is missing or empty")]
    MissingKey {
        /// Its type.
        kind: &'static str,
        /// The key that the type requires.
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
        /// The position of the error.
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
    /// Returns the error as a finding.
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
        let finding = Finding::new(&rules::secret::UNUSABLE, at, self.to_string());
        match self {
            Self::Document { .. } | Self::MissingKey { .. } => {
                finding.with_help("make it with `kubectl create secret docker-registry`")
            }
            _ => finding,
        }
    }
}

impl Secret {
    /// Reads a manifest, parsed from JSON or YAML: `data` in base64, and `stringData`, which overrides it.
    ///
    /// # Errors
    /// If it is not a Secret, or if the value of a pull secret's key cannot be decoded.
    pub fn from_manifest(manifest: &Value, default_namespace: &str) -> Result<Self, SecretError> {
        let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
        // Items of a list from the API server have no kind.
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

/// Returns the value that the API server would store under `key`.
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
