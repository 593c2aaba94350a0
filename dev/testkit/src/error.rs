//! What can go wrong while real components are started, and what a person needs to know then.

use std::{io, path::Path, time::Duration};

/// Why a component could not be started or did not do what was waited for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    #[error("{doing}: {source}")]
    Io {
        /// The operation, with the path it was about.
        doing: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A program is not on this machine.
    #[error(
        "{program} is not on this machine (searched: {searched}); `cargo xtask programs` installs or builds it"
    )]
    NoProgram {
        /// The program's name.
        program: String,
        /// The folders searched.
        searched: String,
    },
    /// A command ran and failed.
    #[error("`{command}` failed ({status}): {output}")]
    Command {
        /// The command line.
        command: String,
        /// How it ended.
        status: String,
        /// What it wrote.
        output: String,
    },
    /// A service ended although it should run.
    #[error("{service} ended by itself ({status}); its log ends with:\n{tail}")]
    Ended {
        /// The service's name.
        service: String,
        /// How it ended.
        status: String,
        /// The last lines of its log.
        tail: String,
    },
    /// Something waited for did not happen.
    #[error("{what}: not so after {}s; last seen: {reason}", within.as_secs())]
    Deadline {
        /// What was waited for.
        what: String,
        /// For how long.
        within: Duration,
        /// Why it was not so when last looked at.
        reason: String,
    },
    /// The root folder of a node or control plane cannot be used.
    #[error("{root} cannot hold a node: {reason}")]
    Root {
        /// The folder.
        root: String,
        /// Why not.
        reason: &'static str,
    },
    /// A certificate could not be made.
    #[error("making a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A component's answer is not the JSON it should be.
    #[error("reading the JSON of {from}: {source}")]
    Json {
        /// Whose answer.
        from: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Names the operation and the path that an I/O error belongs to.
pub(crate) trait Doing<T> {
    /// Turns the error into one that says what was being done.
    fn doing(self, what: &str, path: &Path) -> Result<T, Error>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, what: &str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io { doing: format!("{what} {}", path.display()), source })
    }
}
