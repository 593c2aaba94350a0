//! The pull secrets for a request: all of the namespace, those that the ServiceAccount names, or manifests on the node.

mod api;
mod folder;
mod found;
mod json;
mod list;
mod named;
mod protobuf;

pub use api::{Api, ApiError};
pub use found::FoundSecrets;

use std::io;
use std::path::PathBuf;

use pullwright_engine::kubelet::{Claims, Request};
use pullwright_outcomes::Reason;

pub(crate) use folder::from_folder;
pub(crate) use list::list;
pub(crate) use named::named;

/// Why there are no Secrets to choose from.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The API server could not be asked, or did not return what was requested.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// None of the named Secrets could be used.
    #[error("none of the pull secrets that ServiceAccount {service_account} names can be used: {}", few(.why))]
    NoneOfNamed {
        /// `namespace/name`.
        service_account: String,
        /// One reason for each.
        why: Vec<String>,
    },
    /// The name is not valid for an object.
    #[error("{name:?} cannot be the name of a {kind}")]
    Name {
        /// The kind of the object.
        kind: &'static str,
        /// The given name, cut to a readable length.
        name: String,
    },
    /// The folder of manifests cannot be listed.
    #[error("cannot list the folder of Secrets {path:?}: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
}

impl SecretsError {
    /// Whose fault it is: a permission and an object can be given by the namespace's owner, an API server that answers cannot.
    pub(crate) fn reason(&self) -> Reason {
        let Self::Api(error) = self else { return Reason::NoSecrets };
        match error {
            ApiError::Forbidden { .. } => Reason::Forbidden,
            ApiError::NotFound { .. } | ApiError::TooLarge { .. } => Reason::NoSecrets,
            ApiError::Unauthorized { .. } => Reason::BadToken,
            ApiError::NoCertificates { .. }
            | ApiError::Unusable { .. }
            | ApiError::Transport { .. }
            | ApiError::Untrusted { .. }
            | ApiError::Status { .. }
            | ApiError::Content { .. }
            | ApiError::Deadline { .. } => Reason::NoApiServer,
        }
    }
}

/// The first few reasons: enough to act on, in one line.
fn few(why: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = why.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
    match why.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// The request and the claims of the token in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) request: &'a Request,
    pub(crate) claims: &'a Claims,
}

/// Checks that a name can be used unchanged in a URL's path: that it is a DNS subdomain.
fn checked<'a>(kind: &'static str, name: &'a str) -> Result<&'a str, SecretsError> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    let valid = (1..=253).contains(&name.len()) && name.bytes().all(allowed) && !name.starts_with('.');
    if valid { Ok(name) } else { Err(SecretsError::Name { kind, name: name.chars().take(64).collect() }) }
}
