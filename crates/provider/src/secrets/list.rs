//! All pull secrets of a namespace, in pages.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pullwright_engine::credentials::{Hosts, Secret, SecretError, SecretName, Sensitive};
use pullwright_engine::go::base64;
use pullwright_engine::kubelet::Namespace;
use serde::Deserialize;

use super::api::Body;
use super::{Api, Found, SecretsError, protobuf};

/// How many Secrets are asked for at a time, as `kubectl` does.
const PAGE: usize = 500;
/// The types of pull secrets.
const TYPES: [&str; 2] = ["kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"];
/// The types that are not asked for. A field selector cannot say "this or that", only "none of these"; and a second list
/// costs more than the few Secrets of rarer types that come along, since the server looks for the newest state each time.
const OTHER_TYPES: [&str; 7] = [
    "Opaque",
    "kubernetes.io/service-account-token",
    "kubernetes.io/tls",
    "kubernetes.io/basic-auth",
    "kubernetes.io/ssh-auth",
    "bootstrap.kubernetes.io/token",
    "helm.sh/release.v1",
];

/// A Secret as the API server sends it; only what is needed, borrowed from the answer.
#[derive(Deserialize)]
pub(super) struct Sent<'a> {
    #[serde(borrow)]
    metadata: SentMetadata<'a>,
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    data: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
}

#[derive(Deserialize)]
struct SentMetadata<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default)]
    metadata: PageMetadata,
    // Not by default: whoever answers `{}` is no API server.
    #[serde(borrow)]
    items: Vec<Sent<'a>>,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    next: String,
}

/// Lists the namespace's pull secrets, by name.
///
/// Those that are about none of `hosts` are only counted: a large namespace has credentials for many registries, and a pull
/// asks few.
pub(crate) fn list(api: &Api<'_>, namespace: &Namespace, hosts: &Hosts<'_>) -> Result<Found, SecretsError> {
    let mut found = Found::default();
    let what = format!("the list of pull secrets in namespace {namespace}");
    let selector = OTHER_TYPES.map(|kind| format!("type!={kind}")).join(",");
    let first =
        format!("/api/v1/namespaces/{namespace}/secrets?fieldSelector={}&limit={PAGE}", escaped(&selector));
    let mut path = first.clone();
    loop {
        let next = match api.list(&path, &what)? {
            Body::Protobuf(body) => {
                let page = protobuf::Page::read(&body).map_err(|_| api.content(&what))?;
                let pull_secrets = page.items.iter().filter(|item| TYPES.contains(&item.kind));
                pull_secrets.for_each(|item| found.add_read(item.read_secret(namespace, hosts)));
                page.next.to_owned()
            }
            Body::Json(body) => {
                let page: Page<'_> = serde_json::from_slice(&body).map_err(|_| api.content(&what))?;
                let pull_secrets = page.items.into_iter().filter(|sent| TYPES.contains(&&*sent.kind));
                pull_secrets.for_each(|sent| found.add(sent.into_secret(namespace)));
                page.metadata.next
            }
        };
        if next.is_empty() {
            break;
        }
        path = format!("{first}&continue={}", escaped(&next));
    }
    // The server's order is by name already; that one Secret comes before another must not depend on it.
    found.secrets.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(found)
}

impl Sent<'_> {
    pub(super) fn into_secret(self, namespace: &Namespace) -> Result<Secret, (SecretName, SecretError)> {
        let name = SecretName { namespace: namespace.to_string(), name: self.metadata.name.into_owned() };
        let mut data = BTreeMap::new();
        for (key, value) in self.data.unwrap_or_default() {
            match base64::decode(&value) {
                Ok(value) => data.insert(key.into_owned(), Sensitive::new(value)),
                Err(error) => return Err((name, SecretError::Data { key: key.into_owned(), error })),
            };
        }
        Ok(Secret { name, kind: self.kind.into_owned(), data })
    }
}

/// Percent-encoded for a URL's query.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(|b| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(b).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_gives_back_cannot_add_to_the_query() {
        assert_eq!(escaped("a&limit=0#é"), "a%26limit%3D0%23%C3%A9");
    }
}
