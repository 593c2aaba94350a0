//! The service's socket: only for its owner, in place at once with the right mode, and never taken from a process that
//! listens there.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use tokio::net::{UnixListener, UnixStream};

/// A socket that is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) listener: UnixListener,
    path: PathBuf,
    /// Tells it from a socket that somebody else has put there since.
    inode: (u64, u64),
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

/// Listens on `path`, for the owner of this process only.
pub(crate) async fn listen(path: &Path) -> Result<Listening, ListenError> {
    let failed = |source| ListenError::Bind { path: path.to_owned(), source };
    match look(path).await.map_err(failed)? {
        SocketState::Living => return Err(ListenError::Living { path: path.to_owned() }),
        SocketState::NotASocket => return Err(ListenError::NotASocket { path: path.to_owned() }),
        SocketState::Nothing | SocketState::Stale => {}
    }
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
    Ok(Listening { listener, path: path.to_owned(), inode })
}

impl Drop for Listening {
    fn drop(&mut self) {
        if inode(&self.path).is_ok_and(|inode| inode == self.inode) {
            // If this fails, the next start replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}
