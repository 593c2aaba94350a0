//! systemd on the node, by its own program. The agent runs in a container, so it enters the node's root first.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use thiserror::Error;

use crate::actions::Action;

/// The word on the command line with which the agent starts itself to enter a root.
pub(crate) const ENTER: &str = "enter";
/// How long systemd may take. Its own limit for a start is 90 seconds.
const WITHIN: Duration = Duration::from_mins(3);
/// What to know of a unit.
const PROPERTIES: &str =
    "--property=LoadState,ActiveState,MainPID,InvocationID,NRestarts,FragmentPath,DropInPaths";
/// Where the programs of a node are.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Why systemd did not do something.
#[derive(Debug, Error)]
pub enum ServiceError {
    /// Its program cannot be run.
    #[error("running systemctl on the node: {0}")]
    Run(#[from] io::Error),
    /// It refused.
    #[error("`systemctl {command}` failed ({status}): {said}")]
    Failed {
        /// What it was told.
        command: String,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// What it said.
        said: String,
    },
    /// It takes too long.
    #[error("`systemctl {command}` did not end within {} s", WITHIN.as_secs())]
    Late {
        /// What it was told.
        command: String,
    },
}

/// systemd on the node.
#[derive(Debug, Clone)]
pub struct Systemd {
    root: PathBuf,
}

/// A unit as systemd sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitState {
    /// Whether there is such a unit.
    pub loaded: bool,
    /// Whether it runs.
    pub active: bool,
    /// Whether systemd has given up on it.
    pub failed: bool,
    /// The process.
    pub main_pid: u32,
    /// Another one after each start.
    pub invocation: String,
    /// How often it was started again by itself.
    pub restarts: u32,
    /// Its files: the unit, then the drop-ins in their order.
    pub files: Vec<PathBuf>,
}

impl Systemd {
    /// The systemd of the node with this root.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Has it do something.
    ///
    /// # Errors
    /// If it does not.
    pub async fn carry_out(&self, action: &Action) -> Result<(), ServiceError> {
        match action {
            Action::DaemonReload => self.run(&["daemon-reload"]).await,
            Action::Reload(unit) => self.run(&["reload", unit]).await,
            Action::Stop(unit) => self.run(&["stop", unit]).await,
            Action::Restart(unit) => {
                // A unit that failed too often in a row is not started again without this.
                let _ = self.run(&["reset-failed", unit]).await;
                self.run(&["restart", unit]).await
            }
        }
        .map(drop)
    }

    /// Looks at a unit.
    ///
    /// # Errors
    /// If systemd does not answer.
    pub async fn show(&self, unit: &str) -> Result<UnitState, ServiceError> {
        Ok(UnitState::parse(&self.run(&["show", PROPERTIES, unit]).await?))
    }

    async fn run(&self, arguments: &[&str]) -> Result<String, ServiceError> {
        let command = arguments.join(" ");
        // The agent's own file, even if it was replaced since.
        let mut program = tokio::process::Command::new("/proc/self/exe");
        program.arg(ENTER).arg(&self.root).arg("systemctl").args(["--no-pager", "--no-ask-password"]);
        program.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(WITHIN, program.output())
            .await
            .map_err(|_| ServiceError::Late { command: command.clone() })??;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
            return Err(ServiceError::Failed { command, status: output.status, said });
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl UnitState {
    fn parse(text: &str) -> Self {
        let mut state = Self::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
            match name {
                "LoadState" => state.loaded = value == "loaded",
                // A unit that is being reloaded runs.
                "ActiveState" => {
                    state.active = matches!(value, "active" | "reloading");
                    state.failed = value == "failed";
                }
                "MainPID" => state.main_pid = value.parse().unwrap_or_default(),
                "InvocationID" => value.clone_into(&mut state.invocation),
                "NRestarts" => state.restarts = value.parse().unwrap_or_default(),
                "FragmentPath" if !value.is_empty() => state.files.insert(0, value.into()),
                "DropInPaths" => state.files.extend(value.split_whitespace().map(PathBuf::from)),
                _ => {}
            }
        }
        state
    }
}

/// Runs a program of the node in place of this process: `enter ROOT PROGRAM ARGUMENTS`. Returns only if that fails.
pub(crate) fn enter(arguments: &[OsString]) -> io::Error {
    let [root, program, arguments @ ..] = arguments else {
        return io::Error::other("use: enter ROOT PROGRAM ARGUMENTS");
    };
    if let Err(error) = rustix::process::chroot(Path::new(root)).and_then(|()| rustix::process::chdir("/")) {
        return error.into();
    }
    Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        // systemctl does nothing, and says that it went well, where it believes to be in a chroot.
        .env("SYSTEMD_IGNORE_CHROOT", "1")
        .exec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_read_whatever_the_order() {
        let text = "DropInPaths=/a/10.conf /b/90.conf\nFragmentPath=/lib/kubelet.service\nLoadState=loaded\n\
                    ActiveState=active\nMainPID=42\nInvocationID=abc\nNRestarts=3\n";
        let state = UnitState::parse(text);
        assert_eq!(state.files, ["/lib/kubelet.service", "/a/10.conf", "/b/90.conf"].map(PathBuf::from));
        assert_eq!((state.loaded, state.active, state.failed), (true, true, false));
        assert_eq!((state.main_pid, state.restarts, state.invocation.as_str()), (42, 3, "abc"));
        assert!(UnitState::parse("ActiveState=failed\n").failed);
    }
}
