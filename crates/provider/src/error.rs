//! Why a request is not served: one line that a person can act on.

use std::io;
use std::path::PathBuf;

use pullwright_engine::kubelet::exec::RequestError;
use pullwright_engine::kubelet::token::TokenError;
use pullwright_engine::plan::Withheld;
use pullwright_engine::reference::ReferenceError;
use pullwright_handover::{FolderError, NoImage, PutError, SweeperError, TicketError};
use pullwright_nodefiles::LoadError;

use crate::cluster::ClusterError;
use crate::run::REQUEST_MAX;
use crate::secrets::SecretsError;

/// Why a request could not be served. The pull goes on without this plugin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Standard input broke off.
    #[error("cannot read the request from standard input: {0}")]
    Input(io::Error),
    /// More than any request has.
    #[error("the request has more than {} MiB", REQUEST_MAX >> 20)]
    InputTooLarge,
    /// Not a request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The token cannot be read.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The token has ended.
    #[error("the service account token ended {ago} s ago: is the node's clock right?")]
    Expired {
        /// Seconds.
        ago: i64,
    },
    /// The image cannot have come from a kubelet.
    #[error("the image name {image:?} is not one: {source}")]
    Image {
        /// The image.
        image: String,
        /// Why.
        source: ReferenceError,
    },
    /// The node's `registries.conf` is broken; CRI-O refuses it too.
    #[error(transparent)]
    Registries(#[from] LoadError),
    /// No API server.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// No Secrets.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// The file cannot be named.
    #[error(transparent)]
    Name(#[from] NoImage),
    /// The auth folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The file was not put.
    #[error(transparent)]
    Put(#[from] PutError),
    /// There is no ticket.
    #[error(transparent)]
    Ticket(#[from] TicketError),
    /// The sweeper could not work.
    #[error(transparent)]
    Sweeper(#[from] SweeperError),
    /// There are credentials, and to answer them would show one to a host that it is not for.
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
        /// Why.
        source: io::Error,
    },
    /// `check` needs a namespace.
    #[error("the request has no token that would say the namespace: add --namespace")]
    NoNamespace,
}

impl Error {
    /// A stable name for filters.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Input(_) | Self::InputTooLarge | Self::Request(_) | Self::Image { .. } => "bad-request",
            Self::Token(_) | Self::Expired { .. } | Self::NoNamespace => "bad-token",
            Self::Registries(_) => "bad-registries-conf",
            Self::Cluster(_) => "no-api-server",
            Self::Secrets(_) => "no-secrets",
            Self::Name(_) | Self::Folder(_) | Self::Put(_) | Self::Ticket(_) | Self::Sweeper(_) => {
                "no-auth-file"
            }
            Self::Withheld(_) => "withheld",
            Self::Answer(_) => "no-answer",
            Self::RequestFile { .. } => "no-plan",
        }
    }
}
