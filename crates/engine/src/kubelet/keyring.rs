//! The order in which the kubelet tries credentials: its `BasicDockerKeyring`, for any type of value.

use std::collections::BTreeMap;

use super::matching::urls_match;
use crate::reference::{DOCKER_HUB, DOCKER_HUB_INDEX};
use pullwright_golang::url::{Url, UrlError};

/// Docker Hub's key. Its credentials are used for Docker Hub's images if no other key matches.
const DEFAULT_REGISTRY: &[u8] = DOCKER_HUB_INDEX.as_bytes();

/// Values under keys such as `https://quay.io/v1/` or `*.example.com/team`.
///
/// A pull tries all values that match: keys in reverse byte order, so that of two keys for one host the longer comes first;
/// values of one key in the order in which they were added.
#[derive(Debug, Clone)]
pub struct Keyring<T> {
    entries: BTreeMap<Vec<u8>, KeyringEntry<T>>,
}

#[derive(Debug, Clone)]
struct KeyringEntry<T> {
    /// `None` if the normalised key no longer parses: it then matches nothing.
    pattern: Option<Url<'static>>,
    values: Vec<(String, T)>,
}

/// A value that was found, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit<'a, T> {
    /// The key as it was added.
    pub key: &'a str,
    /// The value under the key.
    pub value: &'a T,
    /// Whether it was found only because both the key and the image are Docker Hub's.
    pub by_default: bool,
}

impl<T> Default for Keyring<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new() }
    }
}

impl<T> Keyring<T> {
    /// Adds a value under a key. The scheme is dropped, and so is `/v1` or `/v2` if more of the path follows.
    ///
    /// # Errors
    /// If the key is not a URL; the kubelet logs it and continues without it.
    pub fn add(&mut self, key: impl Into<String>, value: T) -> Result<(), UrlError> {
        let key = key.into();
        let index = index_key(&Url::parse(&key)?);
        let entry = self.entries.entry(index).or_insert_with_key(|index| KeyringEntry {
            // Parsed a second time, as the kubelet does: characters that were escaped in the key are now significant.
            pattern: Url::parse_schemeless(index).ok().map(Url::into_owned),
            values: Vec::new(),
        });
        entry.values.push((key, value));
        Ok(())
    }

    /// Returns all values whose key matches the image, in the order in which the pull tries them.
    #[must_use]
    pub fn lookup(&self, image: &str) -> Vec<Hit<'_, T>> {
        let mut hits = Vec::new();
        if let Ok(url) = Url::parse_schemeless(image) {
            let matching =
                |entry: &&KeyringEntry<T>| entry.pattern.as_ref().is_some_and(|key| urls_match(key, &url));
            for entry in self.entries.values().rev().filter(matching) {
                hits.extend(entry.hits(false));
            }
        }
        if hits.is_empty() && is_on_default_registry(image) {
            hits.extend(self.entries.get(DEFAULT_REGISTRY).into_iter().flat_map(|entry| entry.hits(true)));
        }
        hits
    }
}

impl<T> KeyringEntry<T> {
    fn hits(&self, by_default: bool) -> impl Iterator<Item = Hit<'_, T>> {
        self.values.iter().map(move |(key, value)| Hit { key, value, by_default })
    }
}

/// Returns host and path, without the API version that the Docker client writes.
fn index_key(url: &Url<'_>) -> Vec<u8> {
    let path = url.path();
    let path = if path.starts_with(b"/v1/") || path.starts_with(b"/v2/") { &path[3..] } else { path };
    let path = if path == b"/" { &[] } else { path };
    [url.host(), path].concat()
}

/// Whether the name alone shows that the image is Docker Hub's.
fn is_on_default_registry(image: &str) -> bool {
    match image.split_once('/') {
        None => !image.is_empty(),
        Some((DOCKER_HUB | DOCKER_HUB_INDEX, _)) => true,
        Some((first, _)) => !first.is_empty() && !first.contains(['.', ':']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyring<'a>(keys: impl IntoIterator<Item = (&'a str, &'a str)>) -> Keyring<&'a str> {
        let mut keyring = Keyring::default();
        for (key, value) in keys {
            keyring.add(key, value).unwrap();
        }
        keyring
    }

    fn found<'a>(keyring: &Keyring<&'a str>, image: &str) -> Vec<&'a str> {
        keyring.lookup(image).iter().map(|hit| *hit.value).collect()
    }

    /// `key image hit|miss` on each line; `#` begins a comment.
    const VECTORS: &str = include_str!("../../testdata/kubelet/keys-and-the-images-they-serve.txt");

    #[test]
    fn keys_serve_images_as_in_the_kubelet() {
        let mut seen = 0;
        for line in VECTORS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let fields: Vec<_> = line.split_whitespace().collect();
            let [key, image, expected @ ("hit" | "miss")] = fields[..] else {
                panic!("not a vector: {line}")
            };
            assert_eq!(!found(&keyring([(key, "x")]), image).is_empty(), expected == "hit", "{line}");
            seen += 1;
        }
        assert_eq!(seen, 29);
    }

    #[test]
    fn of_several_keys_the_longer_is_tried_first_and_paths_have_no_boundary() {
        let keyring = keyring([("bar.example.com", "ada"), ("bar.example.com/pong", "grace")]);
        for (image, expected) in [
            ("bar.example.com", &["ada"][..]),
            ("bar.example.com/pong", &["grace", "ada"]),
            ("bar.example.com/ping", &["ada"]),
            ("bar.example.com/pongz", &["grace", "ada"]),
            ("bar.example.com/pong/pang", &["grace", "ada"]),
            ("example.com", &[]),
            ("foo.example.com", &[]),
        ] {
            assert_eq!(found(&keyring, image), expected, "{image}");
        }
    }

    #[test]
    fn one_key_in_several_spellings_keeps_the_order_added() {
        let keyring = keyring([("https://quay.io/v1/", "first"), ("quay.io", "second"), ("*.io", "third")]);
        assert_eq!(found(&keyring, "quay.io/a"), ["first", "second", "third"]);
        assert_eq!(keyring.lookup("quay.io/a")[0].key, "https://quay.io/v1/");
    }

    #[test]
    fn docker_hub_is_the_default_only_when_nothing_else_matches() {
        let keyring = keyring([("https://index.docker.io/v1/", "hub"), ("docker.io/team", "team")]);
        assert_eq!(found(&keyring, "docker.io/team/a"), ["team"]);
        let hits = keyring.lookup("docker.io/library/nginx");
        assert_eq!(hits.iter().map(|hit| (*hit.value, hit.by_default)).collect::<Vec<_>>(), [("hub", true)]);
        // Without the last slash the version is a path, and the key is not Docker Hub's.
        assert!(
            found(&super::tests::keyring([("https://index.docker.io/v1", "hub")]), "docker.io/a").is_empty()
        );
    }

    #[test]
    fn the_default_registry_is_told_by_the_name() {
        for image in ["foo/bar", "docker.io/foo/bar", "index.docker.io/foo/bar", "foo"] {
            assert!(is_on_default_registry(image), "{image}");
        }
        for image in ["", "registry.tld/foo/bar", "registry:5000/foo/bar", "myhostdocker.io/foo/bar", "/foo"]
        {
            assert!(!is_on_default_registry(image), "{image}");
        }
    }

    #[test]
    fn a_key_that_is_no_url_is_refused() {
        let refusal = Keyring::default().add("a b", ()).unwrap_err().to_string();
        assert_eq!(refusal, r#"parse "https://a b": invalid character " " in host name"#);
    }
}
