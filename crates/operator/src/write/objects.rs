//! The operator's own objects: what they should be, what they are, and the writes between the two.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::cache::ObjectKey;

/// Stands for the content of an object: equal contents have equal fingerprints. The content itself can be a megabyte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a value. Keys of maps are sorted, so it does not depend on how the API server writes them.
    #[must_use]
    pub fn of(content: &Value) -> Self {
        Self(Sha256::digest(content.to_string()).into())
    }
}

/// An object as it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct WantedObject {
    /// Its name.
    pub key: ObjectKey,
    /// The whole object, with the label that marks it as the operator's.
    pub body: Value,
    /// The fingerprint of what is compared.
    pub content: Fingerprint,
}

/// An object that carries the operator's label, as the API server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnObject {
    /// Its name.
    pub key: ObjectKey,
    /// Which object of that name it is.
    pub uid: String,
    /// Which version of it.
    pub resource_version: String,
    /// The fingerprint of what is compared.
    pub content: Fingerprint,
    /// The length of its content as JSON.
    pub size: usize,
}

impl OwnObject {
    /// An object as a cache keeps it.
    #[must_use]
    pub fn new(metadata: &ObjectMeta, content: &Value) -> Self {
        Self {
            key: metadata.into(),
            uid: metadata.uid.clone().unwrap_or_default(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            content: Fingerprint::of(content),
            size: content.to_string().len(),
        }
    }
}

/// A write. Each names the version that it was decided for, so that it fails if somebody was faster.
#[derive(Debug, Clone, PartialEq)]
pub enum ObjectWrite {
    /// There is none yet.
    Create(WantedObject),
    /// It is not as it should be.
    Replace(WantedObject, OwnObject),
    /// It should not be there.
    Delete(OwnObject),
}

impl ObjectWrite {
    /// The object's name.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Create(wanted) | Self::Replace(wanted, _) => &wanted.key,
            Self::Delete(own) => &own.key,
        }
    }
}

/// The writes that make `own` what is wanted: what is new comes before what goes, so that nothing is missing meanwhile.
#[must_use]
pub fn writes(
    wanted: impl IntoIterator<Item = WantedObject>,
    own: impl IntoIterator<Item = OwnObject>,
) -> Vec<ObjectWrite> {
    let mut own: BTreeMap<_, _> = own.into_iter().map(|own| (own.key.clone(), own)).collect();
    let mut writes = Vec::new();
    for wanted in wanted {
        match own.remove(&wanted.key) {
            None => writes.push(ObjectWrite::Create(wanted)),
            Some(present) if present.content == wanted.content => {}
            Some(present) => writes.push(ObjectWrite::Replace(wanted, present)),
        }
    }
    writes.extend(own.into_values().map(ObjectWrite::Delete));
    writes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted(name: &str, content: u8) -> WantedObject {
        let key = ObjectKey { namespace: String::new(), name: name.to_owned() };
        WantedObject { key, body: json!({}), content: Fingerprint::of(&json!(content)) }
    }

    fn own(name: &str, content: u8) -> OwnObject {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        OwnObject::new(&metadata, &json!(content))
    }

    #[test]
    fn only_differences_are_written() {
        let writes =
            writes([wanted("a", 1), wanted("b", 2), wanted("d", 4)], [own("a", 1), own("b", 1), own("c", 3)]);
        assert_eq!(
            writes,
            [
                ObjectWrite::Replace(wanted("b", 2), own("b", 1)),
                ObjectWrite::Create(wanted("d", 4)),
                ObjectWrite::Delete(own("c", 3)),
            ]
        );
    }

    #[test]
    fn the_order_of_keys_is_not_a_difference() {
        let one: Value = serde_json::from_str(r#"{"a": 1, "b": 2}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"b": 2, "a": 1}"#).unwrap();
        assert_eq!(Fingerprint::of(&one), Fingerprint::of(&other));
    }
}
