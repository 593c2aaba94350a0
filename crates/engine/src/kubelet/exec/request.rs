//! The kubelet's request: credentials for an image, on behalf of a service account.

use std::collections::BTreeMap;
use std::fmt::Write;

use thiserror::Error;

use super::ApiVersion;
use crate::credentials::Sensitive;
use pullwright_golang::json::{JsonKind, RawValue, SyntaxError};
use pullwright_golang::marshal::marshal_text;

const KIND: &str = "CredentialProviderRequest";

/// A `CredentialProviderRequest`.
///
/// Only version 1 can have a token and annotations; the constructors ensure this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    api_version: ApiVersion,
    image: String,
    service_account_token: Option<Sensitive>,
    service_account_annotations: BTreeMap<String, String>,
}

/// The reason why standard input is not a request. It never contains a value from the input, which has a token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// Not JSON.
    #[error("read credential provider request: {0}")]
    Syntax(#[from] SyntaxError),
    /// JSON, but not an object.
    #[error("read credential provider request: expected an object, found {}", .0.noun())]
    NotAnObject(JsonKind),
    /// The kind is another one or absent.
    #[error("read credential provider request: kind is {found:?}, expected \"CredentialProviderRequest\"")]
    UnknownKind {
        /// The kind found, cut to a readable length; empty if there is none.
        found: String,
    },
    /// The group or version is another one or absent.
    #[error(
        "read credential provider request: apiVersion {found:?} is not supported; set apiVersion of this provider in the kubelet's CredentialProviderConfig to \"credentialprovider.kubelet.k8s.io/v1\""
    )]
    UnknownVersion {
        /// The apiVersion found, cut to a readable length; empty if there is none.
        found: String,
    },
    /// A field has the wrong type.
    #[error("read credential provider request: {field} is {}, expected {expected}", .found.noun())]
    WrongType {
        /// The field.
        field: &'static str,
        /// The type that was found.
        found: JsonKind,
        /// The expected type.
        expected: &'static str,
    },
    /// The image is empty.
    #[error("read credential provider request: image is empty")]
    NoImage,
}

impl Request {
    /// A request without a service account, as for a static pod or in versions before 1.
    #[must_use]
    pub fn anonymous(api_version: ApiVersion, image: impl Into<String>) -> Self {
        Self {
            api_version,
            image: image.into(),
            service_account_token: None,
            service_account_annotations: BTreeMap::new(),
        }
    }

    /// A request of version 1 on behalf of a service account.
    #[must_use]
    pub fn on_behalf_of(
        token: Sensitive,
        annotations: BTreeMap<String, String>,
        image: impl Into<String>,
    ) -> Self {
        Self {
            service_account_token: Some(token),
            service_account_annotations: annotations,
            ..Self::anonymous(ApiVersion::V1, image)
        }
    }

    /// Parses the kubelet's request. Unknown fields are ignored, and so are the service account's fields in versions that do
    /// not have them.
    ///
    /// # Errors
    /// If the input is not a request of a known version.
    pub fn parse(stdin: &[u8]) -> Result<Self, RequestError> {
        let document = RawValue::parse(stdin)?;
        if document.kind() != JsonKind::Object {
            return Err(RequestError::NotAnObject(document.kind()));
        }
        let found = text_field(document, "kind")?;
        if found != KIND {
            return Err(RequestError::UnknownKind { found: beginning(&found) });
        }
        let found = text_field(document, "apiVersion")?;
        let Some(api_version) = ApiVersion::from_text(&found) else {
            return Err(RequestError::UnknownVersion { found: beginning(&found) });
        };
        let image = text_field(document, "image")?;
        if image.is_empty() {
            return Err(RequestError::NoImage);
        }
        let mut request = Self::anonymous(api_version, image);
        if api_version == ApiVersion::V1 {
            let token = text_field(document, "serviceAccountToken")?;
            request.service_account_token = (!token.is_empty()).then(|| Sensitive::new(token));
            request.service_account_annotations = text_map_field(document, "serviceAccountAnnotations")?;
        }
        Ok(request)
    }

    /// Renders the request as the kubelet writes it, byte for byte, with the final newline.
    #[must_use]
    pub fn render(&self) -> String {
        // Writing into a String cannot fail.
        let mut out = format!(
            r#"{{"kind":"{KIND}","apiVersion":"{}","image":{}"#,
            self.api_version,
            marshal_text(&self.image)
        );
        if let Some(token) = &self.service_account_token {
            let _ = write!(out, r#","serviceAccountToken":{}"#, marshal_text(token.expose()));
        }
        if !self.service_account_annotations.is_empty() {
            let member =
                |(key, value): (&String, &String)| format!("{}:{}", marshal_text(key), marshal_text(value));
            let members: Vec<_> = self.service_account_annotations.iter().map(member).collect();
            let _ = write!(out, r#","serviceAccountAnnotations":{{{}}}"#, members.join(","));
        }
        out + "}\n"
    }

    /// The version, which the answer must have as well.
    #[must_use]
    pub fn api_version(&self) -> ApiVersion {
        self.api_version
    }

    /// The image's normalised name, without tag and digest.
    #[must_use]
    pub fn image(&self) -> &str {
        &self.image
    }

    /// The pod's token, if the provider is configured for tokens and the pod has a service account.
    #[must_use]
    pub fn service_account_token(&self) -> Option<&Sensitive> {
        self.service_account_token.as_ref()
    }

    /// The annotations of the service account that the provider is configured to get.
    #[must_use]
    pub fn service_account_annotations(&self) -> &BTreeMap<String, String> {
        &self.service_account_annotations
    }
}

/// Returns enough of a name to recognise it.
fn beginning(name: &str) -> String {
    name.chars().take(64).collect()
}

/// Returns the last member with that name, like Go; null counts as absent.
fn field<'a>(document: RawValue<'a>, name: &str) -> Option<RawValue<'a>> {
    let named = document.members().filter(|(member, _)| member == name);
    named.map(|(_, value)| value).filter(|value| value.kind() != JsonKind::Null).last()
}

fn text_field(document: RawValue<'_>, name: &'static str) -> Result<String, RequestError> {
    field(document, name).map_or(Ok(String::new()), |value| text(value, name))
}

fn text(value: RawValue<'_>, field: &'static str) -> Result<String, RequestError> {
    let wrong = || RequestError::WrongType { field, found: value.kind(), expected: "a string" };
    value.text().map(std::borrow::Cow::into_owned).ok_or_else(wrong)
}

fn text_map_field(
    document: RawValue<'_>,
    name: &'static str,
) -> Result<BTreeMap<String, String>, RequestError> {
    let Some(map) = field(document, name) else {
        return Ok(BTreeMap::new());
    };
    if map.kind() != JsonKind::Object {
        return Err(RequestError::WrongType {
            field: name,
            found: map.kind(),
            expected: "an object of strings",
        });
    }
    map.members().map(|(key, value)| Ok((key.into_owned(), text(value, name)?))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VECTORS: [&str; 4] = [
        include_str!("../../../testdata/kubelet/request-v1alpha1.json"),
        include_str!("../../../testdata/kubelet/request-v1beta1.json"),
        include_str!("../../../testdata/kubelet/request-v1.json"),
        include_str!("../../../testdata/kubelet/request-v1-with-token-and-annotations.json"),
    ];

    #[test]
    fn requests_are_read_and_written_as_the_kubelet_writes_them() {
        for (line, version) in VECTORS.into_iter().zip([
            ApiVersion::V1Alpha1,
            ApiVersion::V1Beta1,
            ApiVersion::V1,
            ApiVersion::V1,
        ]) {
            let request = Request::parse(line.as_bytes()).unwrap();
            assert_eq!((request.api_version(), request.image()), (version, "test.registry.io/foobar"));
            assert_eq!(request.render(), line);
        }
        let full = Request::parse(VECTORS[3].as_bytes()).unwrap();
        assert_eq!(full.service_account_token().unwrap().expose(), "service-account-token");
        assert_eq!(full.service_account_annotations()["domain.io/annotation1"], "value1");
    }

    #[test]
    fn a_token_in_a_version_without_tokens_is_ignored() {
        let stdin = VECTORS[3].replace("/v1\"", "/v1beta1\"");
        assert_eq!(Request::parse(stdin.as_bytes()).unwrap().service_account_token(), None);
    }

    #[test]
    fn unknown_fields_are_ignored_and_nothing_shows_the_token() {
        let stdin = VECTORS[3].replace("\"image\"", "\"later\":{\"a\":[1]},\"image\"");
        let request = Request::parse(stdin.as_bytes()).unwrap();
        assert!(!format!("{request:?}").contains("service-account-token"));
    }

    #[test]
    fn what_is_not_a_request_is_refused_by_name_and_without_its_values() {
        let v1 = r#""apiVersion":"credentialprovider.kubelet.k8s.io/v1""#;
        for (stdin, expected) in [
            (String::new(), "unexpected end of JSON input"),
            ("[]".into(), "expected an object, found a list"),
            ("{}".into(), "kind is \"\", expected \"CredentialProviderRequest\""),
            (r#"{"kind":"Pod"}"#.into(), "kind is \"Pod\", expected \"CredentialProviderRequest\""),
            (
                r#"{"kind":"CredentialProviderRequest","apiVersion":"v1"}"#.into(),
                "apiVersion \"v1\" is not supported; set apiVersion of this provider in the kubelet's CredentialProviderConfig to \"credentialprovider.kubelet.k8s.io/v1\"",
            ),
            (format!(r#"{{"kind":"{KIND}",{v1}}}"#), "image is empty"),
            (format!(r#"{{"kind":"{KIND}",{v1},"image":7}}"#), "image is a number, expected a string"),
            (
                format!(r#"{{"kind":"{KIND}",{v1},"image":"a","serviceAccountToken":["hush"]}}"#),
                "serviceAccountToken is a list, expected a string",
            ),
            (
                format!(r#"{{"kind":"{KIND}",{v1},"image":"a","serviceAccountAnnotations":"hush"}}"#),
                "serviceAccountAnnotations is a string, expected an object of strings",
            ),
        ] {
            let refusal = Request::parse(stdin.as_bytes()).unwrap_err().to_string();
            assert_eq!(refusal, format!("read credential provider request: {expected}"));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            image in ".{1,40}",
            token in ".{1,40}",
            annotations in proptest::collection::btree_map(".{0,20}", ".{0,20}", 0..4),
        ) {
            let anonymous = Request::anonymous(ApiVersion::V1Beta1, image.clone());
            prop_assert_eq!(Request::parse(anonymous.render().as_bytes()), Ok(anonymous));
            let request = Request::on_behalf_of(Sensitive::new(token), annotations, image);
            prop_assert_eq!(Request::parse(request.render().as_bytes()), Ok(request));
        }
    }
}
