//! The reasons why a document is not a `CredentialProviderConfig`, in the kubelet's words.

use std::fmt;

use thiserror::Error;

use crate::kubelet::header::HeaderError;
use pullwright_findings::DocPath;
use pullwright_golang::duration::DurationError;
use pullwright_golang::json::JsonKind;
use pullwright_golang::quote::quote;

/// The reason why the kubelet cannot read a document, in its words.
///
/// Two parts of the kubelet's messages are left out: the whole document, which it shows if kind or version is missing and
/// which may contain secrets, and the line of its source code, which it shows if the kind is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// Kind and version cannot be read.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// `kind` is missing.
    #[error("Object 'Kind' is missing")]
    MissingKind,
    /// `apiVersion` is missing.
    #[error("Object 'apiVersion' is missing")]
    MissingVersion,
    /// The kubelet does not know the kind in that version.
    #[error("no kind {} is registered for version {}", quote(.kind), quote(.version))]
    UnknownKind {
        /// The kind.
        kind: String,
        /// Group and version.
        version: String,
    },
    /// The kubelet knows the kind, but it is not a configuration of credential providers.
    #[error("failed to decode {} (wrong Kind)", quote(.0))]
    WrongKind(String),
    /// A field has the wrong type.
    #[error("{0}")]
    Type(TypeFault),
    /// `defaultCacheDuration` is not a duration.
    #[error("{fault}")]
    Duration {
        /// The path.
        at: DocPath,
        /// The reason.
        fault: DurationError,
    },
    /// Some fields are unknown or repeated.
    #[error("strict decoding error: {}", join(.0))]
    Strict(Vec<StrictFault>),
}

/// A value of a type that does not fit its field, described with the kubelet's own types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeFault {
    /// The path.
    pub at: DocPath,
    pub(in crate::kubelet) found: JsonKind,
    pub(in crate::kubelet) target: String,
    pub(in crate::kubelet) go_type: String,
}

impl fmt::Display for TypeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, go_type, .. } = self;
        let found = match self.found {
            JsonKind::Null => "null",
            JsonKind::Bool => "bool",
            JsonKind::Number => "number",
            JsonKind::String => "string",
            JsonKind::Array => "array",
            JsonKind::Object => "object",
        };
        write!(f, "json: cannot unmarshal {found} into Go {target} of type {go_type}")
    }
}

/// A field that the strict decoder refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictFault {
    /// The path.
    pub at: DocPath,
    /// Whether the field is known and repeated; otherwise it is unknown.
    pub repeated: bool,
}

impl fmt::Display for StrictFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.repeated { "duplicate" } else { "unknown" };
        write!(f, "{what} field {}", quote(&self.at.to_string()))
    }
}

fn join(faults: &[StrictFault]) -> String {
    faults.iter().map(StrictFault::to_string).collect::<Vec<_>>().join(", ")
}

impl DecodeError {
    /// Returns the individual faults with their paths.
    #[must_use]
    pub fn faults(&self) -> Vec<(DocPath, String)> {
        let at = match self {
            Self::Strict(faults) => {
                return faults.iter().map(|fault| (fault.at.clone(), fault.to_string())).collect();
            }
            Self::Type(fault) | Self::Header(HeaderError::Type(fault)) => fault.at.clone(),
            Self::Duration { at, .. } => at.clone(),
            Self::UnknownKind { .. } | Self::WrongKind(_) => DocPath::root().key("kind"),
            Self::Header(HeaderError::GroupVersion(_)) => DocPath::root().key("apiVersion"),
            Self::Header(HeaderError::Syntax(_)) | Self::MissingKind | Self::MissingVersion => {
                DocPath::root()
            }
        };
        vec![(at, self.to_string())]
    }
}
