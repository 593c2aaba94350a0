//! The provider's answer: credentials by image pattern, and how long the kubelet may cache them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use thiserror::Error;

use super::ApiVersion;
use crate::credentials::Sensitive;
use crate::kubelet::header::{Header, HeaderError};
use pullwright_golang::duration::Duration;
use pullwright_golang::json::{JsonKind, RawValue};
use pullwright_golang::marshal::marshal_text;

const KIND: &str = "CredentialProviderResponse";

/// The key under which the kubelet caches an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheKeyType {
    /// The name of the image.
    Image,
    /// The registry of the image: one answer serves all its images.
    Registry,
    /// A single key for everything.
    Global,
}

impl CacheKeyType {
    /// The value in the answer.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "Image",
            Self::Registry => "Registry",
            Self::Global => "Global",
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        [Self::Image, Self::Registry, Self::Global].into_iter().find(|key| key.as_str() == text)
    }
}

/// A user name and password; both may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthConfig {
    /// The user name.
    pub username: String,
    /// The password. Only [`Response::render`] writes it.
    pub password: Sensitive,
}

/// A `CredentialProviderResponse`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Must be the version of the request: the kubelet compares them as strings.
    pub api_version: ApiVersion,
    /// Required even if there is nothing to cache.
    pub cache_key_type: CacheKeyType,
    /// How long to cache the answer; zero disables caching, and `None` means the default of the kubelet's configuration.
    pub cache_duration: Option<Duration>,
    /// Credentials by image pattern; an empty map is a valid answer.
    pub auth: BTreeMap<String, AuthConfig>,
}

/// The reason why the kubelet would not use an answer, in its words. The kubelet hides what is wrong with the content,
/// because that may be a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ResponseError {
    /// Kind and version cannot be read.
    #[error("error reading GVK from response: {0}")]
    Header(#[from] HeaderError),
    /// The version is not the one of the request.
    #[error(
        "apiVersion from credential plugin response did not match expected apiVersion:{expected}, actual apiVersion:{actual}"
    )]
    Version {
        /// The request's version.
        expected: ApiVersion,
        /// The version of the answer.
        actual: String,
    },
    /// The answer has an unknown or repeated field, or a wrong type or kind.
    #[error("error decoding credential provider plugin response from stdout")]
    Decode,
    /// The cache key type is not one of the three.
    #[error("credential provider plugin did not return a valid cacheKeyType: {0}")]
    CacheKeyType(String),
}

impl Response {
    /// An answer without credentials, which the kubelet does not cache, so that it asks again for the next pull.
    #[must_use]
    pub fn empty(api_version: ApiVersion) -> Self {
        Self {
            api_version,
            cache_key_type: CacheKeyType::Image,
            cache_duration: Some(Duration::ZERO),
            auth: BTreeMap::new(),
        }
    }

    /// Renders the answer for standard output, with a final newline. It contains passwords and must not go anywhere else.
    #[must_use]
    pub fn render(&self) -> String {
        // Writing into a String cannot fail.
        let mut out = format!(
            r#"{{"kind":"{KIND}","apiVersion":"{}","cacheKeyType":"{}""#,
            self.api_version,
            self.cache_key_type.as_str()
        );
        if let Some(duration) = self.cache_duration {
            let _ = write!(out, r#","cacheDuration":"{duration}""#);
        }
        if !self.auth.is_empty() {
            let entry = |(key, auth): (&String, &AuthConfig)| {
                let (key, username) = (marshal_text(key), marshal_text(&auth.username));
                format!(
                    r#"{key}:{{"username":{username},"password":{}}}"#,
                    marshal_text(auth.password.expose())
                )
            };
            let entries: Vec<_> = self.auth.iter().map(entry).collect();
            let _ = write!(out, r#","auth":{{{}}}"#, entries.join(","));
        }
        out + "}\n"
    }

    /// Parses an answer as strictly as the kubelet.
    ///
    /// # Errors
    /// If the kubelet would ignore the answer.
    pub fn parse(stdout: &[u8], expected: ApiVersion) -> Result<Self, ResponseError> {
        let document = RawValue::parse(stdout).map_err(HeaderError::from)?;
        let header = Header::read(document)?;
        let actual = header.api_version();
        if actual != expected.as_str() {
            return Err(ResponseError::Version { expected, actual });
        }
        let names = ["kind", "apiVersion", "cacheKeyType", "cacheDuration", "auth"];
        let [_, _, key_type, duration, auth] = members(document, names)?;
        if header.kind != KIND {
            return Err(ResponseError::Decode);
        }
        let cache_duration = match duration {
            None => None,
            some => Some(Duration::parse(&text(some)?).map_err(|_| ResponseError::Decode)?),
        };
        let auth = auth.map_or_else(|| Ok(BTreeMap::new()), auth_map)?;
        let key_type = text(key_type)?;
        let cache_key_type =
            CacheKeyType::from_text(&key_type).ok_or(ResponseError::CacheKeyType(key_type))?;
        Ok(Self { api_version: expected, cache_key_type, cache_duration, auth })
    }
}

fn auth_map(value: RawValue<'_>) -> Result<BTreeMap<String, AuthConfig>, ResponseError> {
    if value.kind() != JsonKind::Object {
        return Err(ResponseError::Decode);
    }
    let mut map = BTreeMap::new();
    for (key, value) in value.members() {
        let [username, password] = members(value, ["username", "password"])?;
        let auth = AuthConfig { username: text(username)?, password: Sensitive::new(text(password)?) };
        if map.insert(key.into_owned(), auth).is_some() {
            return Err(ResponseError::Decode);
        }
    }
    Ok(map)
}

/// Returns the values of these fields. Repeated or other fields are an error. Null counts as absent.
fn members<'a, const N: usize>(
    document: RawValue<'a>,
    names: [&str; N],
) -> Result<[Option<RawValue<'a>>; N], ResponseError> {
    if !matches!(document.kind(), JsonKind::Object | JsonKind::Null) {
        return Err(ResponseError::Decode);
    }
    let mut values = [None; N];
    let mut seen = BTreeSet::new();
    for (name, value) in document.members() {
        let position = names.iter().position(|known| *known == name).ok_or(ResponseError::Decode)?;
        if !seen.insert(position) {
            return Err(ResponseError::Decode);
        }
        values[position] = (value.kind() != JsonKind::Null).then_some(value);
    }
    Ok(values)
}

/// Returns a string, empty if absent.
fn text(value: Option<RawValue<'_>>) -> Result<String, ResponseError> {
    match value {
        None => Ok(String::new()),
        Some(value) => value.text().map(std::borrow::Cow::into_owned).ok_or(ResponseError::Decode),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_empty_answer_still_names_a_cache_key_and_is_not_kept() {
        assert_eq!(
            Response::empty(ApiVersion::V1Beta1).render(),
            "{\"kind\":\"CredentialProviderResponse\",\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1beta1\",\"cacheKeyType\":\"Image\",\"cacheDuration\":\"0s\"}\n"
        );
    }

    #[test]
    fn a_password_is_written_in_the_answer_and_shown_nowhere_else() {
        let mut response = Response::empty(ApiVersion::V1);
        let auth = AuthConfig { username: "ada".into(), password: Sensitive::from("hush\"<") };
        response.auth.insert("quay.io".into(), auth);
        let auth = r#""auth":{"quay.io":{"username":"ada","password":"hush\"\u003c"}}}"#;
        assert!(response.render().trim_end().ends_with(auth));
        assert!(!format!("{response:?}").contains("hush"));
    }

    #[test]
    fn what_the_kubelet_would_not_use_is_refused_in_its_words() {
        let good = Response::empty(ApiVersion::V1).render();
        let refusal =
            |stdout: String| Response::parse(stdout.as_bytes(), ApiVersion::V1).unwrap_err().to_string();
        let decode = "error decoding credential provider plugin response from stdout";
        let header = "error reading GVK from response: couldn't get version/kind; json parse error: ";
        assert_eq!(refusal(String::new()), format!("{header}unexpected end of JSON input"));
        assert!(refusal(good.repeat(2)).starts_with(header));
        assert_eq!(refusal(good.replace("\"0s\"", "0")), decode);
        assert_eq!(refusal(good.replace("kind", "Kind")), decode);
        assert_eq!(refusal(good.replace("Response\"", "Request\"")), decode);
        assert_eq!(refusal(good.replace("}\n", ",\"cacheKeyType\":\"Image\"}")), decode);
        assert_eq!(refusal(good.replace("}\n", ",\"auth\":{\"a\":{\"user\":\"x\"}}}")), decode);
        assert_eq!(
            refusal(good.replace("\"Image\"", "\"ServiceAccount\"")),
            "credential provider plugin did not return a valid cacheKeyType: ServiceAccount"
        );
        assert_eq!(
            refusal(good.replace("/v1\"", "/v1beta1\"")),
            "apiVersion from credential plugin response did not match expected apiVersion:credentialprovider.kubelet.k8s.io/v1, actual apiVersion:credentialprovider.kubelet.k8s.io/v1beta1"
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            auth in proptest::collection::btree_map(".{0,20}", (".{0,9}", ".{0,9}"), 0..4),
            nanos in proptest::option::of(any::<i64>()),
            version in proptest::sample::select(&ApiVersion::ALL),
            cache_key_type in proptest::sample::select(&[CacheKeyType::Image, CacheKeyType::Registry, CacheKeyType::Global]),
        ) {
            let auth = auth.into_iter().map(|(key, (username, password))| {
                (key, AuthConfig { username, password: Sensitive::new(password) })
            });
            let response = Response {
                api_version: version,
                cache_key_type,
                cache_duration: nanos.map(Duration::from_nanos),
                auth: auth.collect(),
            };
            prop_assert_eq!(Response::parse(response.render().as_bytes(), version), Ok(response));
        }
    }
}
