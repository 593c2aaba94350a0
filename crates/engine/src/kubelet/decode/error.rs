//! Why a document is not a `CredentialProviderConfig`, in the kubelet's words.

use std::fmt;

use thiserror::Error;

use crate::kubelet::header::HeaderError;
use pullwright_findings::DocPath;
use pullwright_golang::duration::DurationError;
use pullwright_golang::json::JsonKind;
use pullwright_golang::quote::quote;

/// Why the kubelet cannot read a document, in its words.
///
/// Two things it says are left out: the whole document, where kind or version is missing (it may hold
/// secrets), and the line of its source code, where the kind is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// No kind and version to be found.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// No `kind`.
    #[error("Object 'Kind' is missing")]
    MissingKind,
    /// No `apiVersion`.
    #[error("Object 'apiVersion' is missing")]
    MissingVersion,
    /// A kind that the kubelet does not know in that version.
    #[error("no kind {} is registered for version {}", quote(.kind), quote(.version))]
    UnknownKind {
        /// The kind.
        kind: String,
        /// Group and version.
        version: String,
    },
    /// A kind that the kubelet knows, but not as a configuration of credential providers.
    #[error("failed to decode {} (wrong JsonKind)", quote(.0))]
    WrongKind(String),
    /// A field of another type.
    #[error("{0}")]
    Type(TypeFault),
    /// A `defaultCacheDuration` that is not a duration.
    #[error("{fault}")]
    Duration {
        /// Where.
        at: DocPath,
        /// Why.
        fault: DurationError,
    },
    /// Fields that do not exist, or exist twice.
    #[error("strict decoding error: {}", join(.0))]
    Strict(Vec<StrictFault>),
}

/// A value of a type that its field cannot hold, told in terms of the kubelet's own types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeFault {
    /// Where.
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

/// A field that the decoder does not want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictFault {
    /// Where.
    pub at: DocPath,
    /// Whether it is known and there for the second time.
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
    /// What is wrong, place by place.
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
