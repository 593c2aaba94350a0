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

/// Why a pull failed.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The request names no source.
    #[error("no source to pull from")]
    NoSource,
    /// No source gave the manifest.
    #[error(transparent)]
    Sources(#[from] SourcesFailed),
    /// The source that gave the manifest did not give the rest. As in the runtime, no other source is asked then.
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

/// Every source that was asked for the manifest, with its error. There is at least one.
#[derive(Debug)]
pub struct SourcesFailed {
    /// The sources in the order in which they were asked.
    pub attempts: Vec<(Reference, FetchError)>,
}

impl std::error::Error for SourcesFailed {}

/// Writes all errors as one message, in the runtime's words, because people search for them.
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

/// Why a registry did not deliver something.
#[derive(Debug, thiserror::Error)]
#[error("{operation}{cause}")]
pub struct FetchError {
    /// What was requested.
    pub operation: Operation,
    /// Why the request failed.
    pub cause: Cause,
}

/// What is requested from a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Nothing: the error did not come from a request.
    Choose,
    /// The registry's protocol and authentication.
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

/// Why a registry did not deliver something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// `registries.conf` blocks the source. It was not contacted.
    #[error("registry {0} is blocked in registries.conf")]
    Blocked(String),
    /// The source serves only the other kind of pull (by tag or by digest). It was not contacted.
    #[error("serves only pulls by {}", if *.0 == MirrorUse::TagOnly { "tag" } else { "digest" })]
    ServesOnly(MirrorUse),
    /// The credential for the source could not be determined. It was not contacted.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The reference does not give a URL.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The registry could not be reached, or TLS failed.
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
    /// The registry sent nothing for too long.
    #[error("{host} sent nothing for {} s", waited.as_secs())]
    Silent {
        /// The host.
        host: String,
        /// How long the client waited.
        waited: Duration,
    },
    /// The registry answered, but not with what was requested.
    #[error("{host} answered {status}{detail}{}", shown.advice(*status))]
    Refused {
        /// The host that answered: the registry, its token service or the target of a redirect.
        host: String,
        /// The HTTP status.
        status: u16,
        /// The host's explanation in parentheses; empty if it gave none.
        detail: String,
        /// What the client had sent to authenticate itself.
        shown: Shown,
    },
    /// The registry sent a redirect that is not followed.
    #[error("{host}: {error}")]
    Redirect {
        /// The host.
        host: String,
        /// Why it was not followed.
        error: RedirectError,
    },
    /// No token could be obtained.
    #[error("asking for a token: {0}")]
    Token(#[from] TokenError),
    /// The token service could not be reached, or it refused.
    #[error("asking for a token: {0}")]
    TokenService(Box<Cause>),
    /// The content has another digest.
    #[error("the digest should be {expected} but is {found}")]
    Digest {
        /// The digest that was requested, or that the registry announced.
        expected: Digest,
        /// The digest of the content.
        found: Digest,
    },
    /// The registry's digest header is not a valid digest.
    #[error("the registry's digest header is no digest")]
    DigestHeader,
    /// The content has another size.
    #[error("the size should be {expected} bytes but is {found}")]
    Size {
        /// The size that the manifest gives.
        expected: u64,
        /// The size that was received or announced.
        found: u64,
    },
    /// The content is larger than the limit.
    #[error("larger than {0} bytes; refused")]
    TooLarge(u64),
    /// The registry answered a request for the rest of a blob with something else.
    #[error("{0} sent another part than asked for")]
    OtherPart(String),
    /// The manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// An index lists another index.
    #[error("the index lists another index, which is not supported")]
    Nested,
    /// The index has no image for the requested platform.
    #[error("no image for {wanted}; there are: {offered}")]
    Platform {
        /// The requested platform.
        wanted: Platform,
        /// The platforms that the index has.
        offered: String,
    },
    /// The content could not be written.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// What the client had sent to authenticate itself when a registry refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Nothing: the source has no credential, or the registry did not ask for one.
    Nothing,
    /// The credential, or a token obtained with it.
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
