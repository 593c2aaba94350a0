//! The errors that can occur while real components are started, with what a person needs to know about them.

use std::{io, path::Path, time::Duration};

/// The reason why a component could not be started or did not do what was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    #[error("{doing}: {source}")]
    Io {
        /// The operation, with its path.
        doing: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// A program is not on this machine.
    #[error(
        "{program} is not on this machine (searched: {searched}); `cargo xtask programs` installs or builds it"
    )]
    NoProgram {
        /// The program's name.
        program: String,
        /// The folders that were searched.
        searched: String,
    },
    /// A command ran and failed.
    #[error("`{command}` failed ({status}): {output}")]
    Command {
        /// The command line.
        command: String,
        /// The exit status.
        status: String,
        /// The output.
        output: String,
    },
    /// A server did not do what a request asked for.
    #[error("{request}: refused with {status}: {answer}")]
    Refused {
        /// The method and the path.
        request: String,
        /// The status of the answer.
        status: u16,
        /// The body of the answer, or what is wrong with it.
        answer: String,
    },
    /// A service ended although it should be running.
    #[error("{service} ended by itself ({status}); its log ends with:\n{tail}")]
    Ended {
        /// The service's name.
        service: String,
        /// The exit status.
        status: String,
        /// The last lines of its log.
        tail: String,
    },
    /// An expected event did not happen in time.
    #[error("{what}: not so after {}s; last seen: {reason}", within.as_secs())]
    Deadline {
        /// The expected event.
        what: String,
        /// The time limit.
        within: Duration,
        /// The reason why it had not happened at the last check.
        reason: String,
    },
    /// The root folder of a node or control plane cannot be used.
    #[error("{root} cannot hold a node: {reason}")]
    Root {
        /// The folder.
        root: String,
        /// The reason.
        reason: &'static str,
    },
    /// A certificate could not be made.
    #[error("making a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The answer of a component is not valid JSON, or not the expected JSON.
    #[error("reading the JSON of {from}: {source}")]
    Json {
        /// The component or command.
        from: String,
        /// The parser's error.
        source: serde_json::Error,
    },
}

/// Adds the operation and the path to an I/O error.
pub(crate) trait Doing<T> {
    /// Adds a description of what was being done.
    fn doing(self, what: &str, path: &Path) -> Result<T, Error>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, what: &str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io { doing: format!("{what} {}", path.display()), source })
    }
}
