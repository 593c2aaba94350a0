//! The categories of failures. Each is a label of the metrics, a reason of conditions and a word in the logs, so that what you see in one
//! place you can look for in the others.

use std::fmt;

use kube::core::Status;

/// What kind of failure it is, and so who can do something about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// The API server does not let the operator do it: look at its RBAC.
    Forbidden,
    /// An object of the needed name, or a field of it, is not the operator's. It is left alone.
    ForeignObject,
    /// The configuration does not fit into one object.
    TooLarge,
    /// The API server did not answer, or not in time. It is tried again.
    ApiUnavailable,
    /// Somebody else wrote at the same time, or owns the field. It is tried again.
    Conflict,
    /// An object of the API cannot be read as its kind.
    Unparsable,
    /// The API server refused what the operator sent.
    Refused,
    /// Not one object is valid, so the nodes keep what they have.
    NothingValid,
}

impl Category {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "Forbidden",
            Self::ForeignObject => "ForeignObject",
            Self::TooLarge => "TooLarge",
            Self::ApiUnavailable => "ApiUnavailable",
            Self::Conflict => "Conflict",
            Self::Unparsable => "Unparsable",
            Self::Refused => "Refused",
            Self::NothingValid => "NothingValid",
        }
    }

    /// The category of an error of the client.
    #[must_use]
    pub fn of(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => match status.code {
                401 | 403 => Self::Forbidden,
                409 if owned_by_others(status) => Self::ForeignObject,
                409 => Self::Conflict,
                413 => Self::TooLarge,
                408 | 429 | 500..=599 => Self::ApiUnavailable,
                _ => Self::Refused,
            },
            kube::Error::SerdeError(_) => Self::Unparsable,
            _ => Self::ApiUnavailable,
        }
    }
}

/// Whether a server-side apply failed because another field manager owns a field.
fn owned_by_others(status: &Status) -> bool {
    fields_of_others(status).next().is_some()
}

/// The fields for which a server-side apply failed because another field manager owns them.
pub(crate) fn fields_of_others(status: &Status) -> impl Iterator<Item = &str> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.filter(|cause| cause.reason == "FieldManagerConflict").map(|cause| cause.field.as_str())
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
