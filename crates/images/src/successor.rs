//! Starts the program again, as it is on disk now, and gives it the listening socket.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::predecessor::{READY, SERVE, VARIABLE};

/// How long a new process may take until it is ready.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// What systemd says to one process only.
const NOT_INHERITED: [&str; 4] = ["WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"];

/// How this process was started. The path leads to the file that is there now: after an update, the new program.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
}

/// Why no other process took over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuccessorError {
    #[error("cannot start {program:?}: {source}")]
    Start { program: OsString, source: io::Error },
    #[error("{program:?} ended ({status}) before it was ready")]
    Ended { program: OsString, status: ExitStatus },
    #[error("{program:?} is not ready after {} s", PATIENCE.as_secs())]
    NotReady { program: OsString },
    #[error("{program:?} does not answer as a successor: is it pullwright-images?")]
    Foreign { program: OsString },
}

/// A process that can serve in place of this one.
#[derive(Debug)]
pub(crate) struct Successor {
    child: Child,
    channel: UnixStream,
    pub(crate) process: Pid,
}

impl Successor {
    /// Starts a process and waits until it is ready. It does not serve yet.
    pub(crate) async fn start(invocation: &Invocation, listener: impl AsFd) -> Result<Self, SuccessorError> {
        let program = invocation.program.clone();
        let (mut child, mut channel) = match spawn(invocation, listener) {
            Ok(spawned) => spawned,
            Err(source) => return Err(SuccessorError::Start { program, source }),
        };
        let process = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let ready = async {
            match channel.read_u8().await {
                Ok(said) => Ok(said == READY),
                // It has closed its end, which a process does when it ends.
                Err(_) => Err(child.wait().await),
            }
        };
        let error = match (timeout(PATIENCE, ready).await, process) {
            (Ok(Ok(true)), Some(process)) => return Ok(Self { child, channel, process }),
            (Ok(Err(Ok(status))), _) => SuccessorError::Ended { program, status },
            (Ok(_), _) => SuccessorError::Foreign { program },
            (Err(_), _) => SuccessorError::NotReady { program },
        };
        // If this fails, it has ended.
        let _ = child.kill().await;
        Err(error)
    }

    /// Tells it to serve. If it has ended meanwhile, [`Successor::crashed`] says so.
    pub(crate) async fn serve(&mut self) {
        let _ = self.channel.write_all(&[SERVE]).await;
    }

    /// Waits until it ends in another way than by being told to.
    pub(crate) async fn crashed(&mut self) -> ExitStatus {
        match self.child.wait().await {
            Ok(status) if !status.success() => status,
            _ => std::future::pending().await,
        }
    }
}

fn spawn(invocation: &Invocation, listener: impl AsFd) -> io::Result<(Child, UnixStream)> {
    let (channel, theirs) = std::os::unix::net::UnixStream::pair()?;
    channel.set_nonblocking(true)?;
    let mut command = Command::new(&invocation.program);
    command
        .args(&invocation.arguments)
        .env(VARIABLE, std::process::id().to_string())
        .stdin(Stdio::from(listener.as_fd().try_clone_to_owned()?))
        .stdout(Stdio::from(OwnedFd::from(theirs)));
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
    Ok((command.spawn()?, UnixStream::from_std(channel)?))
}
