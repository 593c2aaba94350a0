//! The sweeper: one small process per folder, which a put starts and which ends when no files are left.

use std::ffi::OsString;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use thiserror::Error;

use crate::handover::Handover;
use crate::lock::{LockError, Present};
use crate::sweep::{SweepError, Swept};
use crate::watch::Watch;

/// The running program, even if its file has been replaced since.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// When to check again if the folder is empty but a plugin may be about to put a file.
const SOON: Duration = Duration::from_secs(1);

/// The longest time until the next check. A file that is due in an hour may be claimed and gone in a second, and then
/// the sweeper has no reason to stay.
const AT_MOST: Duration = Duration::from_secs(10);

/// Files that arrive within this time are handled together.
const TOGETHER: Duration = Duration::from_millis(50);

/// Closes every inherited descriptor but the standard three. A sweeper must call it before it opens anything.
///
/// A descriptor without `CLOEXEC` passes through the plugin, which may have got it from a wrapper script. If it is the
/// kubelet's pipe, the kubelet waits until nobody holds it. The plugin cannot withhold the descriptor, because it does
/// not know what descriptors that it did not open are for.
pub fn close_inherited() {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return };
    let names = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<RawFd>().ok());
    // Read the whole list before closing any: the listing's own descriptor is in it, and is closed by then.
    let open: Vec<RawFd> = names.filter(|&number| number > 2).collect();
    for number in open {
        let _ = nix::unistd::close(number);
    }
}

/// Why there is no sweeper, or why it stopped.
#[derive(Debug, Error)]
pub enum SweeperError {
    /// The program could not be started again.
    #[error(
        "cannot start the sweeper: {source}; files that no pull claims stay until the next run of the plugin"
    )]
    Start {
        /// The operating system's error.
        source: io::Error,
    },
    /// A lock could not be taken.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The folder cannot be swept.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

/// The arguments that make the running program act as the sweeper. Everybody can read them, so they hold only paths and
/// bounds.
///
/// When started with them, the program calls [`close_inherited`], opens the same [`Handover`] and calls
/// [`Handover::run_sweeper`].
#[derive(Debug, Clone)]
pub struct SweeperCommand {
    args: Vec<OsString>,
}

impl SweeperCommand {
    /// Takes the subcommand and its arguments.
    pub fn new(args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { args: args.into_iter().map(Into::into).collect() }
    }

    /// Starts the program again with nothing of ours: no output (the kubelet waits for whoever holds the plugin's), no
    /// environment, and no working directory that would block an unmount. The sweeper closes other open descriptors
    /// itself: see [`close_inherited`].
    fn start(&self) -> io::Result<()> {
        let mut command = Command::new(THIS_PROGRAM);
        if let Some(name) = std::env::args_os().next() {
            command.arg0(name);
        }
        command
            .args(&self.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            // The sweeper outlives us; init becomes its parent.
            .map(drop)
    }
}

impl Handover {
    /// Ensures that a sweeper lives for at least as long as `present` does.
    ///
    /// A sweeper that holds its lock now cannot end before we are gone, because it ends only when it is alone: we never
    /// rely on one that has already decided to end. If there is none, we start one. Others may do so at the same time;
    /// all but one of these end at once.
    pub(crate) fn ensure_sweeper(
        &self,
        _present: &Present<'_>,
        command: &SweeperCommand,
    ) -> Result<(), SweeperError> {
        if self.locks.sweeper_lives()? {
            return Ok(());
        }
        command.start().map_err(|source| SweeperError::Start { source })
    }

    /// Runs the sweeper process: sweeps when something is due, and ends when nothing is left or another sweeper runs.
    /// Calls `report` with each sweep, for a log.
    ///
    /// # Errors
    /// A [`SweeperError`] if the folder cannot be swept at all.
    pub fn run_sweeper(&self, mut report: impl FnMut(&Swept)) -> Result<(), SweeperError> {
        // Leave the kubelet's session and take a name of our own. A separate service has both already.
        let _ = rustix::process::setsid();
        let _ = rustix::thread::set_name(c"auth-sweeper");
        let Some(place) = self.locks.become_sweeper()? else {
            return Ok(());
        };
        // Before the first check, so that no file arrives unseen: it may be due long before the next check.
        let coming = Watch::for_coming(self.folder.entries());
        loop {
            let swept = self.sweep_once(SystemTime::now())?;
            report(&swept);
            if swept.next.is_none()
                && let Some(alone) = self.locks.alone()?
                // Check again, now that nobody can add a file.
                && self.is_clean()?
            {
                // Leftover lock files only cost a little memory.
                let _ = alone.remove_name_locks();
                // In this order: a process that finds nobody alone must not find a sweeper that is about to end.
                drop(place);
                drop(alone);
                return Ok(());
            }
            coming.wait(pause(swept.next));
            // When many files arrive together, one check is enough.
            std::thread::sleep(TOGETHER);
        }
    }
}

/// How long to sleep when the next file is due in `next`.
fn pause(next: Option<Duration>) -> Duration {
    // At least a millisecond: file timestamps are coarser than our clock.
    next.unwrap_or(SOON).clamp(Duration::from_millis(1), AT_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sleeps_until_something_is_due_and_never_for_long() {
        assert_eq!(pause(Some(Duration::from_secs(3))), Duration::from_secs(3));
        assert_eq!(pause(Some(Duration::from_hours(1))), AT_MOST);
        assert_eq!(pause(None), SOON);
        assert!(pause(Some(Duration::ZERO)) > Duration::ZERO, "it would never sleep");
    }
}
