//! The outcome of a plugin run, as the log describes it.

use std::fmt;
use std::path::PathBuf;

use pullwright_outcomes::Reason;

/// The outcome of a plugin run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginOutcome {
    /// The request has no token, so the namespace is not known.
    NoToken,
    /// The image is pulled only from the registry in its name.
    NoMirrors,
    /// No Secret of the namespace matches a source.
    NoCredential {
        /// The number of Secrets.
        secrets: usize,
    },
    /// An auth file is ready for the runtime.
    Wrote {
        /// The file.
        path: PathBuf,
        /// The number of sources with a credential of the namespace in it.
        entries: usize,
    },
    /// A file is ready for the pull that brings its ticket.
    WroteForTicket {
        /// The file.
        path: PathBuf,
        /// The number of sources with a credential of the namespace in it.
        entries: usize,
    },
    /// There is no credential for this pull, but a file was handed over for the same image before, so the answer says
    /// that the pull is for this service account alone.
    KeptApart {
        /// Why there is no credential.
        why: String,
        /// The same in one word: what the run would have ended with.
        instead_of: Reason,
    },
    /// The answer holds the credentials.
    Answered {
        /// The number of credentials.
        credentials: usize,
    },
}

impl PluginOutcome {
    /// A stable name for filters.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::KeptApart { .. } => "kept-apart",
            other => other.reason().name(),
        }
    }

    /// What the run counts as. A pull that is kept apart counts as what it would have been otherwise, so that a plugin that fails
    /// shows.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::NoToken => Reason::NoToken,
            Self::NoMirrors => Reason::NoMirrors,
            Self::NoCredential { .. } => Reason::NoCredential,
            Self::Wrote { .. } => Reason::WroteFile,
            Self::WroteForTicket { .. } => Reason::WroteTicket,
            Self::KeptApart { instead_of, .. } => *instead_of,
            Self::Answered { .. } => Reason::Answered,
        }
    }

    /// Whether a credential was handed over.
    #[must_use]
    pub fn provides(&self) -> bool {
        self.reason().provides()
    }
}

impl fmt::Display for PluginOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoToken => f.write_str("No service account token in the request, nothing to provide"),
            Self::NoMirrors => f.write_str("No mirrors found, will not write any auth file"),
            Self::NoCredential { secrets } => {
                write!(f, "None of {secrets} secret(s) of the namespace fits, will not write any auth file")
            }
            Self::Wrote { path, entries } | Self::WroteForTicket { path, entries } => {
                write!(f, "Wrote auth file to {} with {entries} number of entries", path.display())
            }
            Self::KeptApart { why, .. } => write!(
                f,
                "{why}; answered that the pull is this service account's alone, for a file was handed over for this image before"
            ),
            Self::Answered { credentials } => write!(f, "Answered with {credentials} credential(s)"),
        }
    }
}
