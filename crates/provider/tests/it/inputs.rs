//! What the plugin is given: requests with tokens, and Secrets.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use pullwright_engine::credentials::Sensitive;
use pullwright_engine::kubelet::Request;
use pullwright_golang::base64;

use crate::stage::{IMAGE, PASSWORD, SIGNATURE};

/// A token of the default ServiceAccount of a namespace, good for an hour.
pub(crate) fn token(namespace: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    token_until(namespace, now + 3600)
}

pub(crate) fn token_until(namespace: &str, expires: u64) -> String {
    let claims = serde_json::json!({
        "aud": ["https://kubernetes.default.svc"],
        "exp": expires,
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": "default", "uid": "1"}},
        "sub": format!("system:serviceaccount:{namespace}:default"),
    });
    token_saying(&claims.to_string())
}

/// A token with these claims and a signature that nobody would accept.
pub(crate) fn token_saying(claims: &str) -> String {
    let url = |text: &str| {
        let encoded = base64::encode(text.as_bytes()).replace('+', "-").replace('/', "_");
        encoded.trim_end_matches('=').to_owned()
    };
    format!("{}.{}.{}", url("{}"), url(claims), url(SIGNATURE))
}

/// A request as the kubelet writes it.
pub(crate) fn request(token: &str) -> String {
    request_with(token, &[])
}

pub(crate) fn request_with(token: &str, annotations: &[(&str, &str)]) -> String {
    let annotations: BTreeMap<_, _> =
        annotations.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Request::on_behalf_of(Sensitive::from(token), annotations, IMAGE).render()
}

/// A request for another image than most.
pub(crate) fn request_for(image: &str, token: &str) -> String {
    Request::on_behalf_of(Sensitive::from(token), BTreeMap::new(), image).render()
}

/// A `.dockerconfigjson` with these keys and users; all have the same password.
pub(crate) fn auths(entries: &[(&str, &str)]) -> String {
    let entries = entries.iter().map(|(key, user)| {
        let auth = base64::encode(format!("{user}:{PASSWORD}").as_bytes());
        ((*key).to_owned(), serde_json::json!({"auth": auth}))
    });
    serde_json::json!({"auths": entries.collect::<serde_json::Map<_, _>>()}).to_string()
}

/// The manifest of a pull secret that holds `content`.
pub(crate) fn manifest(name: &str, content: &str) -> String {
    serde_json::json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": content},
    })
    .to_string()
}
