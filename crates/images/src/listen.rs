//! The service's socket: only for its owner, in place at once with the right mode, and never taken from a process that
//! listens there. A process may give it to its successor; the socket itself knows which of the two serves.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::net::sockopt;
use rustix::process::Pid;
use tokio::net::{UnixListener, UnixStream};

/// How many connections may wait to be accepted. The kernel lowers this to its own limit.
const BACKLOG: i32 = 4096;

/// A socket. If this process serves it, its path is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) listener: UnixListener,
    path: PathBuf,
    /// Tells it from a socket that somebody else has put there since.
    inode: (u64, u64),
    /// Whether this process serves it, and not one before or after it.
    ours: bool,
}

/// Why the socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another process listens on the path.
    #[error("somebody listens on {path:?} already: stop it, or choose another path")]
    Living {
        /// The socket.
        path: PathBuf,
    },
    /// Something other than a socket is at the path.
    #[error("{path:?} is not a socket: remove it, or choose another path")]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// The socket that the predecessor gave is another one.
    #[error(
        "the predecessor does not listen on {path:?}: restart the service, so that all options take effect"
    )]
    NotThePredecessors {
        /// The socket that the options name.
        path: PathBuf,
    },
    /// The socket cannot be created.
    #[error("cannot listen on {path:?}: {source}")]
    Bind {
        /// The socket.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// What is at the path of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketState {
    Nothing,
    /// A socket that nobody listens on, because its owner died.
    Stale,
    Living,
    NotASocket,
}

/// Checks what is at `path`.
pub(crate) async fn look(path: &Path) -> io::Result<SocketState> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => return Ok(SocketState::NotASocket),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SocketState::Nothing),
        Err(error) => return Err(error),
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(SocketState::Stale),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SocketState::Nothing),
        // A process that is too busy to accept a connection is alive too.
        Ok(_) | Err(_) => Ok(SocketState::Living),
    }
}

/// Fails if `path` is not free to listen on.
pub(crate) async fn free(path: &Path) -> Result<(), ListenError> {
    match look(path).await.map_err(|source| ListenError::Bind { path: path.to_owned(), source })? {
        SocketState::Living => Err(ListenError::Living { path: path.to_owned() }),
        SocketState::NotASocket => Err(ListenError::NotASocket { path: path.to_owned() }),
        SocketState::Nothing | SocketState::Stale => Ok(()),
    }
}

/// Listens on `path`, for the owner of this process only, and in place of whoever listened there.
pub(crate) fn replace(path: &Path) -> Result<Listening, ListenError> {
    let failed = |source| ListenError::Bind { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    // Create it beside the path and then rename it, so that the path never shows a socket that nobody listens on or
    // that others may use.
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let _ = fs::remove_file(&beside);
    let before = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let listener = UnixListener::bind(&beside);
    rustix::process::umask(before);
    let listener = listener.map_err(failed)?;
    let moved = inode(&beside).and_then(|inode| fs::rename(&beside, path).map(|()| inode));
    let inode = moved.map_err(|source| {
        let _ = fs::remove_file(&beside);
        failed(source)
    })?;
    Ok(Listening { listener, path: path.to_owned(), inode, ours: true })
}

impl Listening {
    /// Takes the socket that the predecessor listens on.
    pub(crate) fn inherit(path: &Path, socket: OwnedFd) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Bind { path: path.to_owned(), source };
        let socket = std::os::unix::net::UnixListener::from(socket);
        let bound = socket.local_addr().ok().and_then(|address| address.as_pathname().map(Path::to_owned));
        if sockopt::socket_acceptconn(&socket) != Ok(true)
            || !bound.is_some_and(|bound| is_beside(&bound, path))
        {
            return Err(ListenError::NotThePredecessors { path: path.to_owned() });
        }
        let inode = inode(path).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let listener = UnixListener::from_std(socket).map_err(failed)?;
        Ok(Self { listener, path: path.to_owned(), inode, ours: false })
    }

    /// Makes this process the one that serves.
    pub(crate) fn claim(&mut self) -> io::Result<()> {
        self.ours = true;
        // The kernel shows the process that called `listen` last.
        Ok(rustix::net::listen(&self.listener, BACKLOG)?)
    }

    /// Leaves the path to the successor.
    pub(crate) fn leave(&mut self) {
        self.ours = false;
    }

    /// Whether `process` is the one that serves.
    pub(crate) fn is_served_by(&self, process: Pid) -> bool {
        server(&self.listener).is_ok_and(|serving| serving == process)
    }
}

/// The process that serves a listening socket, asked at the socket itself or at a connection to it.
pub(crate) fn server(socket: impl AsFd) -> io::Result<Pid> {
    Ok(sockopt::socket_peercred(socket)?.pid)
}

/// Whether a socket was bound to a name that [`replace`] chooses for `path`. A rename does not change that name.
fn is_beside(bound: &Path, path: &Path) -> bool {
    let number = bound.as_os_str().as_bytes().strip_prefix(path.as_os_str().as_bytes());
    number.and_then(|rest| rest.strip_prefix(b".")).is_some_and(|rest| rest.iter().all(u8::is_ascii_digit))
}

impl Drop for Listening {
    fn drop(&mut self) {
        if self.ours && inode(&self.path).is_ok_and(|inode| inode == self.inode) {
            // If this fails, the next start replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}
