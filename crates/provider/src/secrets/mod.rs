//! The pull secrets for a request: a list of the namespace, those that the ServiceAccount names, or manifests on the node.

mod api;
mod folder;
mod list;
mod named;
mod protobuf;

pub use api::{Api, ApiError};

use std::io;
use std::path::PathBuf;

use pullwright_engine::credentials::{PullSecret, Secret, SecretError, SecretName};
use pullwright_engine::kubelet::{Claims, Request};

pub(crate) use folder::from_folder;
pub(crate) use list::list;
pub(crate) use named::named;

/// What was found, first one first.
#[derive(Debug, Default)]
pub struct Found {
    /// The Secrets that hold credentials.
    pub secrets: Vec<PullSecret>,
    /// How many there are besides, which name no host of the pull.
    pub elsewhere: usize,
    /// What could not be used, and why. The others still are.
    pub unusable: Vec<String>,
}

/// Why there are no Secrets to choose from.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The API server was not asked, or did not give what was asked for.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// None of the named ones could be had.
    #[error("none of the pull secrets that ServiceAccount {service_account} names can be used: {}", few(.why))]
    NoneOfNamed {
        /// `namespace/name`.
        service_account: String,
        /// One reason each.
        why: Vec<String>,
    },
    /// A name that no object can have.
    #[error("{name:?} cannot be the name of a {kind}")]
    Name {
        /// What kind of object.
        kind: &'static str,
        /// What was given, cut to a readable length.
        name: String,
    },
    /// The folder of manifests cannot be listed.
    #[error("cannot list the folder of Secrets {path:?}: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The first reasons: enough to act on, and one line.
fn few(why: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = why.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
    match why.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// Whose request it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) request: &'a Request,
    pub(crate) claims: &'a Claims,
}

impl Found {
    /// How many Secrets could be read.
    pub(crate) fn count(&self) -> usize {
        self.secrets.len() + self.elsewhere
    }

    /// Adds a Secret, or why it cannot be used.
    fn add(&mut self, secret: Result<Secret, (SecretName, SecretError)>) {
        let read = |secret: Secret| PullSecret::read(&secret).map_err(|error| (secret.name, error));
        self.add_read(secret.and_then(read).map(Some));
    }

    /// Adds a Secret that was read, counts one that is for elsewhere, or says why it cannot be used.
    fn add_read(&mut self, read: Result<Option<PullSecret>, (SecretName, SecretError)>) {
        match read {
            Ok(None) => self.elsewhere += 1,
            Ok(Some(secret)) => {
                let said = secret
                    .findings()
                    .iter()
                    .map(|finding| format!("Secret {}: {}", secret.name(), finding.message));
                self.unusable.extend(said);
                self.secrets.push(secret);
            }
            Err((name, error)) => self.unusable.push(format!("Secret {name}: {error}")),
        }
    }
}

/// A name that can stand in a URL's path as it is: a DNS subdomain.
fn checked<'a>(kind: &'static str, name: &'a str) -> Result<&'a str, SecretsError> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    let valid = (1..=253).contains(&name.len()) && name.bytes().all(allowed) && !name.starts_with('.');
    if valid { Ok(name) } else { Err(SecretsError::Name { kind, name: name.chars().take(64).collect() }) }
}
