//! Lists of Secrets in the encoding that the API server keeps them in: Kubernetes' protobuf.
//!
//! All of the cluster's own components ask for it. A list of Secrets is shorter by a third than in JSON, comes sooner by as
//! much, and is read here without looking at most of it. A server that has only JSON answers JSON.

use pullwright_engine::credentials::{Hosts, PullSecret, SecretError, SecretName};
use pullwright_engine::kubelet::Namespace;
use pullwright_engine::protobuf::{Fields, Malformed, last, text};

/// Its name in `Accept` and `Content-Type`.
pub(super) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every object in this encoding begins with.
const MAGIC: &[u8] = b"k8s\0";

/// A page of a list, borrowed from the answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page<'a> {
    /// What to ask the next page with; empty at the end.
    pub(super) next: &'a str,
    pub(super) items: Vec<Item<'a>>,
}

/// A Secret; only what is needed.
#[derive(Default, PartialEq, Eq)]
pub(super) struct Item<'a> {
    name: &'a str,
    pub(super) kind: &'a str,
    data: Vec<(&'a str, &'a [u8])>,
}

/// Without data: it is secret.
impl std::fmt::Debug for Item<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Item").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<'a> Page<'a> {
    /// Reads a `SecretList`.
    pub(super) fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let (mut next, mut items) = (None, Vec::new());
        for field in Fields::of(object(body, "SecretList")?) {
            match field? {
                (1, metadata) => next = Some(text(last(metadata, 3)?)?),
                (2, item) => items.push(Item::read(item)?),
                _ => {}
            }
        }
        // Every list has metadata: whoever sends none is no API server.
        Ok(Self { next: next.ok_or(Malformed)?, items })
    }
}

impl<'a> Item<'a> {
    fn read(secret: &'a [u8]) -> Result<Self, Malformed> {
        let mut item = Self::default();
        for field in Fields::of(secret) {
            match field? {
                (1, metadata) => item.name = text(last(metadata, 1)?)?,
                (2, entry) => item.data.push((text(last(entry, 1)?)?, last(entry, 2)?)),
                (3, kind) => item.kind = text(kind)?,
                _ => {}
            }
        }
        if item.name.is_empty() { Err(Malformed) } else { Ok(item) }
    }

    /// The pull secret that it is; nothing if it is about none of `hosts`.
    pub(super) fn read_secret(
        &self,
        namespace: &Namespace,
        hosts: &Hosts<'_>,
    ) -> Result<Option<PullSecret>, (SecretName, SecretError)> {
        let name = || SecretName { namespace: namespace.to_string(), name: self.name.to_owned() };
        let value =
            |key: &str| self.data.iter().rev().find(|(name, _)| *name == key).map(|(_, value)| *value);
        PullSecret::about(hosts, name, self.kind, value).map_err(|error| (name(), error))
    }
}

/// The words of a `Status`, with which the server refuses.
pub(super) fn message(body: &[u8]) -> Result<&str, Malformed> {
    text(last(object(body, "Status")?, 3)?)
}

/// The object in its envelope: its type (version 1, kind 2) is field 1, its content field 2.
fn object<'a>(body: &'a [u8], kind: &str) -> Result<&'a [u8], Malformed> {
    let envelope = body.strip_prefix(MAGIC).ok_or(Malformed)?;
    if last(last(envelope, 1)?, 2)? == kind.as_bytes() { last(envelope, 2) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by kube-apiserver v1.36.
    const PAGE: &[u8] = include_bytes!("../../testdata/page-one-of-two-with-two-secrets.protobuf");
    const FORBIDDEN: &[u8] = include_bytes!("../../testdata/forbidden-to-list-secrets.protobuf");

    #[test]
    fn a_page_of_a_real_server_is_read() {
        let page = Page::read(PAGE).unwrap();
        assert!(page.next.starts_with("eyJ2IjoibWV0YS5rOHMuaW8vdjEi"), "{}", page.next);
        let namespace = "with-10".parse().unwrap();
        let read = |hosts: &Hosts<'_>| -> Vec<_> {
            page.items.iter().filter_map(|item| item.read_secret(&namespace, hosts).unwrap()).collect()
        };
        let secrets = read(&Hosts::any());
        let names: Vec<_> = secrets.iter().map(|secret| secret.name().to_string()).collect();
        assert_eq!(names, ["with-10/pull-secret-0000", "with-10/pull-secret-0001"]);
        let keys: Vec<_> = secrets.iter().map(|secret| secret.entries()[0].key.as_str()).collect();
        assert_eq!(keys, ["mirror-0.example:5000", "mirror-1.example:5000"]);
        assert_eq!(secrets[1].entries()[0].credential.username, b"user-1");
        assert_eq!(read(&Hosts::of(["mirror-1.example:5000/nginx"])), secrets[1..], "those about a host");
        assert!(!format!("{page:?}").contains("user-1"), "{page:?}");
    }

    #[test]
    fn the_words_of_a_refusal_are_read() {
        let said = message(FORBIDDEN).unwrap();
        assert!(
            said.starts_with("secrets is forbidden: User \"system:serviceaccount:with-10:default\""),
            "{said}"
        );
        assert_eq!(Page::read(FORBIDDEN), Err(Malformed), "it is no list");
        assert_eq!(message(PAGE), Err(Malformed), "nor is a list a refusal");
    }

    #[test]
    fn a_page_cut_anywhere_is_not_read_as_a_shorter_one() {
        // Behind the list the envelope has two more fields, which are empty.
        for end in 0..PAGE.len() - 4 {
            assert_eq!(Page::read(&PAGE[..end]), Err(Malformed), "{end}");
        }
    }
}
