//! Why a pull fails: each error names the operation, the host and the cause.

use std::fmt;
use std::time::Duration;

use pullwright_engine::reference::Reference;
use pullwright_engine::registries::MirrorUse;

use crate::address::AddressError;
use crate::digest::Digest;
use crate::layout::LayoutError;
use crate::manifest::ManifestError;
use crate::platform::Platform;
use crate::redirect::RedirectError;
use crate::source::CredentialError;
use crate::token::TokenError;

/// Why nothing was pulled.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// There was nothing to ask.
    #[error("no source to pull from")]
    NoSource,
    /// No source gave the manifest.
    #[error(transparent)]
    Sources(#[from] SourcesFailed),
    /// The source that gave the manifest did not give the rest. No other source is asked then, as in the runtime.
    #[error("{reference}: {error}")]
    Rest {
        /// The source.
        reference: Reference,
        /// The error.
        error: Box<FetchError>,
    },
    /// The layout could not be written.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// Every source that was asked for the manifest, with its error; at least one.
#[derive(Debug)]
pub struct SourcesFailed {
    /// The sources in the order in which they were asked.
    pub attempts: Vec<(Reference, FetchError)>,
}

impl std::error::Error for SourcesFailed {}

/// The runtime's one message for all: people search for these words.
impl fmt::Display for SourcesFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attempts.as_slice() {
            [] => f.write_str("no source to pull from"),
            [(_, error)] => write!(f, "{error}"),
            [mirrors @ .., (primary, error)] => {
                let mirrors: Vec<String> =
                    mirrors.iter().map(|(reference, error)| format!("[{reference}: {error}]")).collect();
                write!(f, "(Mirrors also failed: {}): {primary}: {error}", mirrors.join("\n"))
            }
        }
    }
}

/// Why a registry did not give something.
#[derive(Debug, thiserror::Error)]
#[error("{operation}{cause}")]
pub struct FetchError {
    /// What was asked for.
    pub operation: Operation,
    /// Why it was not had.
    pub cause: Cause,
}

/// What is asked of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Nothing yet.
    Choose,
    /// How it is spoken to.
    Ping {
        /// The registry.
        host: String,
    },
    /// A manifest.
    Manifest {
        /// Its tag or digest.
        version: String,
        /// The repository.
        repository: String,
    },
    /// A blob.
    Blob {
        /// The digest of the blob.
        digest: Digest,
    },
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choose => Ok(()),
            Self::Ping { host } => write!(f, "pinging container registry {host}: "),
            Self::Manifest { version, repository } => {
                write!(f, "reading manifest {version} in {repository}: ")
            }
            Self::Blob { digest } => write!(f, "reading blob {digest}: "),
        }
    }
}

/// Why a registry did not give something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// `registries.conf` blocks the source. It was not contacted.
    #[error("registry {0} is blocked in registries.conf")]
    Blocked(String),
    /// The source serves only the other kind of pull. It was not contacted.
    #[error("serves only pulls by {}", if *.0 == MirrorUse::TagOnly { "tag" } else { "digest" })]
    ServesOnly(MirrorUse),
    /// The credential for it is not known. It was not contacted.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The reference leads nowhere.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The registry is not reached, or TLS fails.
    #[error("connecting to {host}: {reason}")]
    Connect {
        /// The host.
        host: String,
        /// The reason.
        reason: String,
    },
    /// The connection broke.
    #[error("the connection to {host} broke: {reason}")]
    Broken {
        /// The host.
        host: String,
        /// The reason.
        reason: String,
    },
    /// Nothing came for too long.
    #[error("{host} sent nothing for {} s", waited.as_secs())]
    Silent {
        /// The host.
        host: String,
        /// For how long.
        waited: Duration,
    },
    /// It answered, but not with what was asked for.
    #[error("{host} answered {status}{detail}{}", shown.advice(*status))]
    Refused {
        /// Who: the registry, its token service or where it redirected to.
        host: String,
        /// With which status.
        status: u16,
        /// What it said about it, in parentheses; empty if nothing.
        detail: String,
        /// What it had been shown.
        shown: Shown,
    },
    /// It led astray.
    #[error("{host}: {error}")]
    Redirect {
        /// The host.
        host: String,
        /// Why it is not followed.
        error: RedirectError,
    },
    /// No token is to be had.
    #[error("asking for a token: {0}")]
    Token(#[from] TokenError),
    /// The token service did not answer well.
    #[error("asking for a token: {0}")]
    TokenService(Box<Cause>),
    /// Other bytes came.
    #[error("the digest should be {expected} but is {found}")]
    Digest {
        /// What was asked for, or what the registry said it is.
        expected: Digest,
        /// What it is.
        found: Digest,
    },
    /// The digest that the registry claims is none.
    #[error("the registry's digest header is no digest")]
    DigestHeader,
    /// More or fewer bytes came.
    #[error("the size should be {expected} bytes but is {found}")]
    Size {
        /// What the manifest says.
        expected: u64,
        /// What came, or was about to.
        found: u64,
    },
    /// More came than anybody should send.
    #[error("larger than {0} bytes; refused")]
    TooLarge(u64),
    /// The answer to a request for the rest was something else.
    #[error("{0} sent another part than asked for")]
    OtherPart(String),
    /// The manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// An index lists an index.
    #[error("the index lists another index, which is not supported")]
    Nested,
    /// The index has no image that was asked for.
    #[error("no image for {wanted}; there are: {offered}")]
    Platform {
        /// What was asked for.
        wanted: Platform,
        /// What there is.
        offered: String,
    },
    /// What came could not be written.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// What a registry had been shown when it refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Nothing: there is no credential for the source, or none was asked for.
    Nothing,
    /// The credential, or a token for it.
    Credential,
}

impl Shown {
    const fn advice(self, status: u16) -> &'static str {
        match (self, status) {
            (Self::Nothing, 401 | 403) => "; no credential was shown",
            (Self::Credential, 401 | 403) => "; the credential was not accepted",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use pullwright_engine::reference::Dialect;

    use super::*;

    fn attempt(image: &str, status: u16) -> (Reference, FetchError) {
        let cause = Cause::Refused {
            host: "h".to_owned(),
            status,
            detail: " (manifest unknown)".to_owned(),
            shown: Shown::Nothing,
        };
        let operation = Operation::Manifest { version: "1".to_owned(), repository: image.to_owned() };
        let reference = Reference::parse(Dialect::Runtime, &format!("{image}:1")).unwrap();
        (reference, FetchError { operation, cause })
    }

    #[test]
    fn one_source_speaks_for_itself_and_several_as_the_runtime_has_them() {
        let attempts = vec![attempt("a.example/x", 404)];
        assert_eq!(
            SourcesFailed { attempts }.to_string(),
            "reading manifest 1 in a.example/x: h answered 404 (manifest unknown)"
        );
        let attempts =
            vec![attempt("a.example/x", 404), attempt("b.example/x", 500), attempt("c.example/x", 401)];
        assert_eq!(
            SourcesFailed { attempts }.to_string(),
            "(Mirrors also failed: \
             [a.example/x:1: reading manifest 1 in a.example/x: h answered 404 (manifest unknown)]\n\
             [b.example/x:1: reading manifest 1 in b.example/x: h answered 500 (manifest unknown)]): \
             c.example/x:1: reading manifest 1 in c.example/x: h answered 401 (manifest unknown); no credential was shown"
        );
    }
}
