//! The programs that are measured, and one run of each.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use crate::stage::Stage;

/// Shows the Go plugin, whose paths are fixed, the row's files: in a mount namespace of its own, so the machine sees nothing
/// of it. `/run` as well, or it would fill the machine's journal.
const WITH_FILES: &str = r#"set -e
mount --bind "$1/etc" /etc
mount --bind "$1/lib" /var/lib
mount --bind "$1/run" /run
shift
exec "$@""#;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contender {
    /// Our plugin.
    Ours,
    /// A bare program that makes the same requests.
    BareExchange,
    /// The Go plugin.
    GoPlugin,
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ours => "ours",
            Self::BareExchange => "bare exchange",
            Self::GoPlugin => "Go plugin",
        })
    }
}

/// What one run took.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Taken {
    /// From its start to its end, in nanoseconds.
    pub wall_ns: f64,
    /// CPU, the system's for it included, in nanoseconds.
    pub cpu_ns: f64,
    /// The most memory it had at once, in bytes.
    pub memory: f64,
}

/// Where the programs are.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Ours.
    pub plugin: PathBuf,
    /// The bare exchange.
    pub bare: PathBuf,
    /// What runs the others and measures them.
    pub measure: PathBuf,
    /// The Go plugin, where there is one that can be run.
    pub go: Option<PathBuf>,
}

impl Programs {
    /// Those that can be measured here.
    #[must_use]
    pub fn contenders(&self) -> Vec<Contender> {
        let go = self.go.is_some().then_some(Contender::GoPlugin);
        [Contender::Ours, Contender::BareExchange].into_iter().chain(go).collect()
    }

    /// Runs one of them once.
    ///
    /// # Errors
    /// If it fails, or does other work than it should.
    pub fn run(&self, contender: Contender, stage: &Stage, server: &str, ca: &Path) -> Result<Taken> {
        let (mut command, stdin) = match contender {
            Contender::Ours => {
                let mut command = Command::new(&self.measure);
                command.arg(&self.plugin).args(stage.plugin_arguments(server, ca));
                (command, "request")
            }
            Contender::BareExchange => {
                let mut command = Command::new(&self.measure);
                command.arg(&self.bare).arg(server).arg(ca).arg(stage.load().namespace());
                (command, "token")
            }
            Contender::GoPlugin => {
                let mut command = Command::new("unshare");
                command.args(["--mount", "sh", "-c", WITH_FILES, "sh"]).arg(stage.path(""));
                command.arg(&self.measure).arg(self.go.as_deref().context("no Go plugin")?);
                (command, "request")
            }
        };
        let output = command
            .stdin(File::open(stage.path(stdin))?)
            .stdout(Stdio::piped())
            // Half a million lines of the Go plugin's would be measured otherwise.
            .stderr(if contender == Contender::GoPlugin { Stdio::null() } else { Stdio::piped() })
            .output()?;
        if !output.status.success() {
            bail!("{contender} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        if contender != Contender::BareExchange {
            stage.claim().with_context(|| contender.to_string())?;
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}
