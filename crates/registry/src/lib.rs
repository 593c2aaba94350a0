//! Pullwright's OCI distribution client. It pulls by a plan: it asks the sources in order, each with its own credential
//! and trust, and writes an OCI layout in which every byte was checked against a digest.
//!
//! ```text
//! pull ──► session (one registry: ping, challenge, token, redirects, retries) ──► transport (hyper, rustls with ring)
//!   │         decided by: address  challenge  token  redirect  retry  resume  manifest  platform   (no I/O in them)
//!   └────► blob (temporary file, resumed) ──► layout (blobs first, the index last)
//! ```
//!
//! Where the runtime (containers/image) does the same thing, this client follows it: everything comes from the source
//! that gave the manifest, only insecure sources fall back from TLS to plain HTTP, and errors use the runtime's words.
//! Support for referrers can be added as one more URL of a `session::Session`.

mod address;
mod blob;
mod challenge;
mod digest;
mod error;
mod layout;
mod manifest;
mod platform;
mod progress;
mod pull;
mod redirect;
mod refusal;
mod resume;
mod retry;
mod session;
mod source;
mod token;
mod transport;
mod trust;

use std::num::NonZeroUsize;
use std::time::Duration;

pub use address::AddressError;
pub use digest::Digest;
pub use error::{Cause, FetchError, Operation, PullError, Shown, SourcesFailed};
pub use layout::{Layout, LayoutError};
pub use manifest::ManifestError;
pub use platform::{Platform, PlatformError, Platforms};
pub use progress::{Event, Progress, Quiet};
pub use pull::Pulled;
pub use redirect::RedirectError;
pub use retry::Retry;
pub use rustls::pki_types::CertificateDer;
pub use source::{CredentialError, Source};
pub use token::TokenError;
pub use trust::{Roots, TrustError, certificates};

/// The options of a client, which apply to all its requests.
#[derive(Debug, Clone)]
pub struct Options {
    /// The certificate authorities to trust in addition to `authorities`.
    pub roots: Roots,
    /// Further certificate authorities.
    pub authorities: Vec<CertificateDer<'static>>,
    /// How long to wait for a registry.
    pub timeouts: Timeouts,
    /// Which requests to retry, and when.
    pub retry: Retry,
    /// How many blobs to fetch at the same time.
    pub parallel: NonZeroUsize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            roots: Roots::default(),
            authorities: Vec::new(),
            timeouts: Timeouts::default(),
            retry: Retry::default(),
            // The same number as in CRI-O and skopeo.
            parallel: NonZeroUsize::MIN.saturating_add(5),
        }
    }
}

/// How long to wait for a registry. A registry that takes longer counts as down, and the client asks the next source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// The time to connect to one address.
    pub connect: Duration,
    /// The time from the start of a request, connecting included, to the head of its response.
    pub answer: Duration,
    /// The time between two pieces of a body.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(30),
            idle: Duration::from_secs(30),
        }
    }
}

/// What to pull.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The name that the image gets in the layout (`org.opencontainers.image.ref.name`).
    pub name: &'a str,
    /// The sources, in the order in which to ask them.
    pub sources: &'a [Source],
    /// Which images of an index to pull.
    pub platforms: Platforms,
}

/// A client. It keeps its connections for the next pull.
#[derive(Debug)]
pub struct Client {
    options: Options,
    transport: transport::Transport,
}

impl Client {
    /// Creates a client with these options.
    ///
    /// # Errors
    /// If one of the certificates cannot be used as an authority.
    pub fn new(options: Options) -> Result<Self, TrustError> {
        let transport = transport::Transport::new(&options)?;
        Ok(Self { options, transport })
    }

    /// Pulls an image into a layout. A pull that fails or is dropped leaves only complete blobs behind, and no name for
    /// them.
    ///
    /// # Errors
    /// If no source gives the manifest, the source that gives it does not give the rest, or the layout cannot be
    /// written.
    pub async fn pull(
        &self,
        request: &Request<'_>,
        layout: &Layout,
        progress: &dyn Progress,
    ) -> Result<Pulled, PullError> {
        pull::pull(self, request, layout, progress).await
    }
}
