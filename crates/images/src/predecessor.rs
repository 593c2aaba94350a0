//! How a process begins that takes over from a running one: it gets the listening socket from it, and serves once the
//! other has stepped back.
//!
//! The predecessor starts us with the listening socket as standard input and a connection to it as standard output.
//! We say that we are ready, and it says that we may serve.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The variable with the predecessor's process id. The id keeps it from having an effect on any other process that
/// inherits it.
pub(crate) const VARIABLE: &str = "PULLWRIGHT_IMAGES_PREDECESSOR";

/// From successor to predecessor: "I can serve."
pub(crate) const READY: u8 = 1;
/// From predecessor to successor: "You serve."
pub(crate) const SERVE: u8 = 2;

/// The process that this one takes over from.
#[derive(Debug)]
pub(crate) struct Predecessor {
    channel: UnixStream,
}

impl Predecessor {
    /// The predecessor and its listening socket, if there is one.
    pub(crate) fn from_vars(var: &dyn Fn(&str) -> Option<OsString>) -> io::Result<Option<(Self, OwnedFd)>> {
        let named = var(VARIABLE).and_then(|pid| pid.to_str()?.parse::<i32>().ok());
        let parent = rustix::process::getppid().map(rustix::process::Pid::as_raw_pid);
        if named.is_none() || named != parent {
            return Ok(None);
        }
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        let channel = io::stdout().as_fd().try_clone_to_owned()?.into();
        // A copy that stays open would keep the socket alive after we stop listening.
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        rustix::stdio::dup2_stdout(io::stderr())?;
        Ok(Some((Self { channel }, socket)))
    }

    /// Says that this process is ready, and waits until the predecessor accepts no more connections.
    pub(crate) async fn relieve(self) -> io::Result<()> {
        self.channel.set_nonblocking(true)?;
        let mut channel = tokio::net::UnixStream::from_std(self.channel)?;
        channel.write_all(&[READY]).await?;
        match channel.read_u8().await? {
            SERVE => Ok(()),
            other => Err(io::Error::other(format!("it said {other}"))),
        }
    }
}
