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

/// A process that serves in place of this one.
#[derive(Debug)]
pub(crate) struct Successor {
    child: Child,
    pub(crate) process: Pid,
}

impl Successor {
    /// Starts a process and lets it serve. Until this returns, the caller goes on serving; so it does after an error.
    pub(crate) async fn start(invocation: &Invocation, listener: impl AsFd) -> Result<Self, SuccessorError> {
        let program = invocation.program.clone();
        let (mut child, channel) = match spawn(invocation, listener) {
            Ok(spawned) => spawned,
            Err(source) => return Err(SuccessorError::Start { program, source }),
        };
        let error = match timeout(PATIENCE, agree(&mut child, channel)).await {
            Ok(Ok(process)) => return Ok(Self { child, process }),
            Ok(Err(Disagreement::Ended(status))) => SuccessorError::Ended { program, status },
            Ok(Err(Disagreement::Foreign)) => SuccessorError::Foreign { program },
            Err(_) => SuccessorError::NotReady { program },
        };
        // If this fails, it has ended.
        let _ = child.kill().await;
        Err(error)
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

enum Disagreement {
    Ended(ExitStatus),
    Foreign,
}

/// The few words after which the other process serves.
async fn agree(child: &mut Child, mut channel: UnixStream) -> Result<Pid, Disagreement> {
    let process = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    match (channel.read_u8().await, process) {
        (Ok(READY), Some(process)) if channel.write_all(&[SERVE]).await.is_ok() => Ok(process),
        (Ok(_), _) => Err(Disagreement::Foreign),
        // It has closed its end, which a process does when it ends.
        (Err(_), _) => match child.wait().await {
            Ok(status) => Err(Disagreement::Ended(status)),
            Err(_) => Err(Disagreement::Foreign),
        },
    }
}
