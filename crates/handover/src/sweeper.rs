//! The sweeper: one small process for a folder, which a put leaves behind and which ends when nothing is left.

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

/// The running program, also when its file has been replaced meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// How soon to look again when the folder is empty and a plugin may be about to change that.
const SOON: Duration = Duration::from_secs(1);

/// How soon to look again at most. What is due in an hour may be claimed and gone in a second, and then there
/// is no reason to stay.
const AT_MOST: Duration = Duration::from_secs(10);

/// Within which time files count as having come together.
const TOGETHER: Duration = Duration::from_millis(50);

/// Closes everything that this process was left by whoever started it. To be called by a sweeper before it opens anything.
///
/// A descriptor that lacks `CLOEXEC` comes along through the plugin, which may have it from a script around it: the kubelet's
/// pipe, for one, and the kubelet waits until nobody holds it. The plugin cannot keep it back, since it does not know what the
/// descriptors that it did not open are for.
pub fn close_inherited() {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return };
    let names = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<RawFd>().ok());
    // To the end, before any is closed: the listing is one of them, and gone by then.
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
        /// What the system says.
        source: io::Error,
    },
    /// A lock cannot be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The folder cannot be swept.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

/// How the running program is told to be the sweeper: the arguments after its name. Everybody can read them, so
/// they hold paths and bounds only.
///
/// With them, the program calls [`close_inherited`], opens the same [`Handover`] and calls [`Handover::run_sweeper`].
#[derive(Debug, Clone)]
pub struct SweeperCommand {
    args: Vec<OsString>,
}

impl SweeperCommand {
    /// The sub-command and its arguments.
    pub fn new(args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { args: args.into_iter().map(Into::into).collect() }
    }

    /// Starts the program again with nothing of ours: no output (the kubelet waits for whoever holds the
    /// plugin's), no environment, no folder that could not be unmounted. What else is open it closes by itself:
    /// [`close_inherited`].
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
            // It outlives us, and whoever outlives it as its parent is init.
            .map(drop)
    }
}

impl Handover {
    /// Sees to it that a sweeper lives for at least as long as `present` does.
    ///
    /// A sweeper that holds its lock now cannot end before we are gone, since it ends only when it is alone: there
    /// is no moment in which we rely on one that has already decided to end. If there is none we start one. Others
    /// may do so in the same moment; all but one of these end at once.
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

    /// The life of the sweeper process: sweeps when something is due, ends when nothing is left or another sweeper
    /// is there. `report` is given each sweep, for a log.
    ///
    /// # Errors
    /// A [`SweeperError`] if the folder cannot be swept at all.
    pub fn run_sweeper(&self, mut report: impl FnMut(&Swept)) -> Result<(), SweeperError> {
        // Away from the kubelet's session and with a name of our own; as a service of its own it has both.
        let _ = rustix::process::setsid();
        let _ = rustix::thread::set_name(c"auth-sweeper");
        let Some(place) = self.locks.become_sweeper()? else {
            return Ok(());
        };
        // Before the first look, so that no file comes unseen: it may be due long before the next look would be.
        let coming = Watch::for_coming(self.folder.entries());
        loop {
            let swept = self.sweep_once(SystemTime::now())?;
            report(&swept);
            if swept.next.is_none()
                && let Some(alone) = self.locks.alone()?
                // Again, now that nobody can add to it.
                && self.is_clean()?
            {
                // Lock files that stay cost a little memory, no more.
                let _ = alone.remove_name_locks();
                // In this order: who finds nobody alone must not find a sweeper that is already gone.
                drop(place);
                drop(alone);
                return Ok(());
            }
            coming.wait(pause(swept.next));
            // Of many files that come together one look is enough.
            std::thread::sleep(TOGETHER);
        }
    }
}

/// How long to sleep when the next file is due in `next`.
fn pause(next: Option<Duration>) -> Duration {
    // At least a millisecond: the clock of files ticks more coarsely than ours.
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
