//! `--reload`: asks the process that serves for a successor, and waits until that one serves. systemd runs it for
//! `systemctl reload`, which so succeeds or fails with it.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::listen::server;
use crate::options::Options;
use crate::successor::PATIENCE;

/// How often to look.
const LOOK: Duration = Duration::from_millis(50);

/// Why no other process serves.
#[derive(Debug, thiserror::Error)]
enum ReloadError {
    #[error("no service listens on {path}: {source}; start it, or correct --listen")]
    NobodyServes { path: String, source: io::Error },
    #[error("cannot signal process {process}: {source}")]
    Signal { process: i32, source: io::Error },
    #[error("process {process} goes on serving: its log says why no other took over")]
    GoesOn { process: i32 },
}

/// Returns 0 if another process serves.
pub(crate) fn run(options: &Options) -> ExitCode {
    match reload(&options.listen) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pullwright-images: {error}");
            ExitCode::FAILURE
        }
    }
}

fn reload(path: &Path) -> Result<(), ReloadError> {
    let before = serving(path)
        .map_err(|source| ReloadError::NobodyServes { path: path.display().to_string(), source })?;
    let process = before.as_raw_pid();
    rustix::process::kill_process(before, Signal::HUP)
        .map_err(|errno| ReloadError::Signal { process, source: errno.into() })?;
    // Longer than the service itself waits, so that it has decided by then.
    let until = Instant::now() + PATIENCE + Duration::from_secs(2);
    while Instant::now() < until {
        sleep(LOOK);
        if serving(path).is_ok_and(|now| now != before) {
            return Ok(());
        }
    }
    Err(ReloadError::GoesOn { process })
}

fn serving(path: &Path) -> io::Result<Pid> {
    server(UnixStream::connect(path)?)
}
