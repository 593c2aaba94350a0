//! Secrets in JSON: a single one, or a page of a list.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pullwright_engine::credentials::{Secret, SecretError, SecretName, Sensitive};
use pullwright_engine::kubelet::Namespace;
use pullwright_golang::base64;
use serde::Deserialize;

/// A Secret as the API server sends it, with only the fields that we need.
#[derive(Deserialize)]
pub(super) struct Sent<'a> {
    #[serde(borrow)]
    metadata: SentMetadata<'a>,
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    /// A `null` value counts as missing, as everywhere in Kubernetes.
    #[serde(borrow, default)]
    data: Option<BTreeMap<Cow<'a, str>, Option<Cow<'a, str>>>>,
}

#[derive(Deserialize)]
struct SentMetadata<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

/// A page of a list.
#[derive(Deserialize)]
pub(super) struct Page<'a> {
    #[serde(default)]
    pub(super) metadata: PageMetadata,
    // Required: a server that answers `{}` is not an API server.
    #[serde(borrow)]
    pub(super) items: Vec<Sent<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct PageMetadata {
    /// The token for the next page; empty at the end.
    #[serde(default, rename = "continue")]
    pub(super) next: String,
}

impl Sent<'_> {
    pub(super) fn name(&self) -> &str {
        &self.metadata.name
    }

    pub(super) fn into_secret(self, namespace: &Namespace) -> Result<Secret, (SecretName, SecretError)> {
        let name = SecretName { namespace: namespace.to_string(), name: self.metadata.name.into_owned() };
        let mut data = BTreeMap::new();
        for (key, value) in self.data.unwrap_or_default() {
            let Some(value) = value else { continue };
            match base64::decode(&value) {
                Ok(value) => data.insert(key.into_owned(), Sensitive::new(value)),
                Err(error) => return Err((name, SecretError::Data { key: key.into_owned(), error })),
            };
        }
        Ok(Secret { name, kind: self.kind.into_owned(), data })
    }
}
