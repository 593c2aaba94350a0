//! The first thing that the kubelet reads from any document: its kind and version, ignoring case.

use thiserror::Error;

use super::decode::TypeFault;
use pullwright_findings::DocPath;
use pullwright_golang::json::{JsonKind, RawValue, SyntaxError, names_field};

/// Kind and version of a document; empty if absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

/// The reason why kind and version of a document cannot be read, in the kubelet's words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// Not JSON.
    #[error("couldn't get version/kind; json parse error: {0}")]
    Syntax(#[from] SyntaxError),
    /// `kind` or `apiVersion` is not a string, or the document is not an object.
    #[error("couldn't get version/kind; json parse error: {0}")]
    Type(TypeFault),
    /// The `apiVersion` has more than one slash.
    #[error("unexpected GroupVersion string: {0}")]
    GroupVersion(String),
}

impl Header {
    pub(super) fn read(document: RawValue<'_>) -> Result<Self, HeaderError> {
        let [api_version, kind] = texts(document).map_err(HeaderError::Type)?;
        // Go treats "/" as empty, and "v1" as the version of the group without a name.
        let (group, version) = match api_version.split_once('/') {
            None => ("", api_version.as_str()),
            Some((_, version)) if version.contains('/') => {
                return Err(HeaderError::GroupVersion(api_version));
            }
            Some(parts) => parts,
        };
        Ok(Self { group: group.to_owned(), version: version.to_owned(), kind })
    }

    /// Group and version in the kubelet's notation.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// Returns `apiVersion` and `kind`; the last of several wins.
fn texts(document: RawValue<'_>) -> Result<[String; 2], TypeFault> {
    let fault = |at, found, target: &str, go_type: &str| TypeFault {
        at,
        found,
        target: target.to_owned(),
        go_type: go_type.to_owned(),
    };
    if !matches!(document.kind(), JsonKind::Object | JsonKind::Null) {
        let go_type = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        return Err(fault(DocPath::root(), document.kind(), "value", go_type));
    }
    let mut texts = [String::new(), String::new()];
    let mut first_fault = None;
    for (name, value) in document.members() {
        let Some(index) = ["apiVersion", "kind"].iter().position(|field| names_field(&name, field)) else {
            continue;
        };
        match value.text() {
            Some(text) => texts[index] = text.into_owned(),
            None if value.kind() == JsonKind::Null => {}
            None => {
                let target = ["struct field .apiVersion", "struct field .kind"][index];
                let at = DocPath::root().key(name);
                first_fault.get_or_insert(fault(at, value.kind(), target, "string"));
            }
        }
    }
    first_fault.map_or(Ok(texts), Err)
}
