//! Why the plugin fails, each in one line that a person can act on.

use std::io;
use std::path::PathBuf;

use pullwright_engine::kubelet::exec::RequestError;
use pullwright_engine::kubelet::token::TokenError;
use pullwright_engine::plan::Withheld;
use pullwright_engine::reference::ReferenceError;
use pullwright_handover::{FolderError, NoImage, PutError, SweeperError, TicketError};
use pullwright_nodefiles::LoadError;
use pullwright_outcomes::Reason;

use crate::cluster::ClusterError;
use crate::run::REQUEST_MAX;
use crate::secrets::SecretsError;

/// Why a request could not be served. The pull goes on without this plugin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Standard input cannot be read.
    #[error("cannot read the request from standard input: {0}")]
    Input(io::Error),
    /// The request is larger than any that a kubelet sends.
    #[error("the request has more than {} MiB", REQUEST_MAX >> 20)]
    InputTooLarge,
    /// The input is not a request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The token cannot be read.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The token has expired.
    #[error("the service account token expired {ago} s ago: is the node's clock right?")]
    Expired {
        /// How many seconds ago.
        ago: i64,
    },
    /// The image name cannot have come from a kubelet.
    #[error("the image name {image:?} is not valid: {source}")]
    Image {
        /// The image.
        image: String,
        /// The underlying error.
        source: ReferenceError,
    },
    /// The node's `registries.conf` is broken. CRI-O refuses it too.
    #[error(transparent)]
    Registries(#[from] LoadError),
    /// No API server is known.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The Secrets cannot be read.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// No file name can be derived from the image.
    #[error(transparent)]
    Name(#[from] NoImage),
    /// The auth folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The file cannot be written.
    #[error(transparent)]
    Put(#[from] PutError),
    /// No ticket can be created.
    #[error(transparent)]
    Ticket(#[from] TicketError),
    /// The sweeper failed.
    #[error(transparent)]
    Sweeper(#[from] SweeperError),
    /// There are credentials, but the answer cannot carry them safely.
    #[error(transparent)]
    Withheld(#[from] Withheld),
    /// Standard output is closed.
    #[error("cannot write the answer to standard output: {0}")]
    Answer(io::Error),
    /// `check` cannot read the request.
    #[error("cannot read the request {path:?}: {source}")]
    RequestFile {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// `check` needs a namespace.
    #[error("the request has no token, so the namespace is not known: add --namespace")]
    NoNamespace,
}

impl Error {
    /// What the run counts as, with a stable name for filters.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Input(_)
            | Self::InputTooLarge
            | Self::Request(_)
            | Self::Image { .. }
            | Self::RequestFile { .. } => Reason::BadRequest,
            Self::Token(_) | Self::Expired { .. } | Self::NoNamespace => Reason::BadToken,
            Self::Registries(_) => Reason::BadRegistriesConf,
            Self::Cluster(_) => Reason::NoApiServer,
            Self::Secrets(error) => error.reason(),
            Self::Name(_) | Self::Folder(_) | Self::Put(_) | Self::Ticket(_) | Self::Sweeper(_) => {
                Reason::NoAuthFile
            }
            Self::Withheld(_) => Reason::Withheld,
            Self::Answer(_) => Reason::NoAnswer,
        }
    }
}
