//! Why files could not be switched, and what to do.

use std::fmt;
use std::io;

use rustix::fs::FileType;
use rustix::io::Errno;
use thiserror::Error;

use super::path::{NodePath, STATE};

/// Why files could not be switched.
#[derive(Debug, Error)]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {path}: {source}{}", what_to_do(source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// The path on the node.
        path: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// Something else is where a file belongs. It is left as it is: nobody knows what a link or a device is for.
    #[error("{path} is {found}, not a file: remove it, or leave the path out of the configuration")]
    NotAFile {
        /// The path.
        path: NodePath,
        /// What is there.
        found: FileKind,
    },
    /// A file is mounted over the path, and the kernel does not let anybody replace a mount.
    #[error(
        "{path} is a mount point, so it cannot be replaced: unmount it, or mount the folder that contains it instead"
    )]
    MountPoint {
        /// The path.
        path: NodePath,
    },
    /// Somebody else changed files that we wrote. They are left as they are, and nothing is switched.
    #[error(
        "{} changed since Pullwright wrote it: take your changes out, or remove the file to have it written again",
        list(paths)
    )]
    ForeignEdit {
        /// The files, at least one.
        paths: Vec<NodePath>,
    },
    /// A configuration names one file twice, maybe by different paths.
    #[error("{path} and {other} are the same file: leave one out of the configuration")]
    SameFile {
        /// A path.
        path: NodePath,
        /// Another one, or the same again.
        other: NodePath,
    },
    /// The folder for the state cannot be there, so this is not the root of a node.
    #[error("there is no /var/lib below {root}: give the folder where the node's root is mounted")]
    NotANode {
        /// The folder given.
        root: String,
    },
    /// Another agent is at work.
    #[error("another agent is at work on this node (it holds a lock on {STATE}): wait until it has ended")]
    Busy,
    /// Another version of the agent wrote the journal.
    #[error(
        "{STATE}/journal.json has format {found}, and this agent knows format {known}: run the version of the agent \
         that wrote it"
    )]
    Format {
        /// Its format.
        found: u64,
        /// The one that we know.
        known: u64,
    },
    /// The journal says nothing, so nobody knows what was done.
    #[error(
        "{STATE}/journal.json is not readable as a journal ({source}): nothing was changed; restore it, or put the files \
         in {STATE}/original back by hand and remove {STATE}"
    )]
    Journal {
        /// Where reading ended.
        source: serde_json::Error,
    },
    /// The journal is gone, but files that it would name are there.
    #[error(
        "{STATE}/journal.json is missing, but {STATE}/original has files: nothing was changed; restore the journal, or \
         put the files back by hand and remove {STATE}"
    )]
    NoJournal,
    /// A kept content is not what it was.
    #[error("{STATE}/{file} is damaged: its content does not match its name")]
    Damaged {
        /// The file below the state folder.
        file: String,
    },
    /// Something has to be finished or undone first.
    #[error("a switch was interrupted: finish it or undo it first")]
    Interrupted,
    /// Files could not be switched; those that were are back.
    #[error("{cause}; every file that was switched is back")]
    Undone {
        /// What went wrong.
        cause: Box<Error>,
    },
    /// Files could not be switched, and some could not be brought back. The journal knows which.
    #[error("{cause}; going back failed too: {undoing}; the next start tries again")]
    NotUndone {
        /// What went wrong first.
        cause: Box<Error>,
        /// What went wrong then.
        undoing: Box<Error>,
    },
}

impl Error {
    /// For `map_err`: the operating system's error, with what was tried and where.
    pub(crate) fn io<E: Into<io::Error>>(
        action: &'static str,
        path: impl fmt::Display,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Io { action, path: path.to_string(), source: source.into() }
    }

    /// The same for a file in the state folder.
    pub(crate) fn state<E: Into<io::Error>>(action: &'static str, file: &str) -> impl FnOnce(E) -> Self {
        let path = if file.is_empty() { STATE.to_owned() } else { format!("{STATE}/{file}") };
        Self::io(action, path)
    }
}

/// The kind of something, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileKind(pub(crate) FileType);

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            FileType::RegularFile => "a file",
            FileType::Directory => "a folder",
            FileType::Symlink => "a symlink",
            FileType::Fifo => "a fifo",
            FileType::Socket => "a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            FileType::Unknown => "of an unknown kind",
        })
    }
}

fn what_to_do(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::NOSPC | Errno::DQUOT) => ": free some space on the node",
        Some(Errno::ROFS) => ": the node's file system must be writable there",
        Some(Errno::PERM) => ": the file may be immutable (lsattr shows it)",
        Some(Errno::BUSY) => ": it may be a mount point; mount the folder that contains it instead",
        Some(Errno::IO) => ": check the node's disk",
        _ => "",
    }
}

/// The first few paths: a message is for reading.
fn list(paths: &[NodePath]) -> String {
    let named: Vec<_> = paths.iter().take(3).map(NodePath::as_str).collect();
    match paths.len().saturating_sub(named.len()) {
        0 => named.join(", "),
        more => format!("{} (and {more} more)", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stays_short_however_many_files_it_is_about() {
        let paths = |count| (0..count).map(|n| NodePath::try_from(format!("/f{n}")).unwrap()).collect();
        assert!(Error::ForeignEdit { paths: paths(1) }.to_string().starts_with("/f0 changed since"));
        let many = Error::ForeignEdit { paths: paths(8192) }.to_string();
        assert!(many.starts_with("/f0, /f1, /f2 (and 8189 more) changed since"), "{many}");
    }

    #[test]
    fn a_full_disk_says_where_and_what_to_do() {
        let error = Error::io::<io::Error>("write", "/etc/a")(Errno::NOSPC.into());
        let text = error.to_string();
        assert!(
            text.starts_with("cannot write /etc/a: ") && text.ends_with(": free some space on the node"),
            "{text}"
        );
    }
}
