//! A running program with a log.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process},
};

use super::{only_child, spawn, wait_until};
use crate::{Error, error::Doing};

/// A running program with a log.
#[derive(Debug)]
pub struct Service {
    name: String,
    child: Child,
    log: Log,
    /// The position in the log where its own lines begin.
    begins: usize,
}

impl Service {
    /// Starts `command` as `name` and appends its output to `logs/<name>.log`, which may have output of an earlier run.
    pub fn start(name: &str, mut command: Command, logs: &Path) -> Result<Self, Error> {
        let log = Log::of(logs, name);
        let path = &log.path;
        let open = || File::options().create(true).append(true).open(path);
        command
            .stdin(Stdio::null())
            .stdout(open().doing("opening", path)?)
            .stderr(open().doing("opening", path)?);
        let begins = log.mark();
        let child = spawn(command).doing("starting", Path::new(name))?;
        Ok(Self { name: name.to_owned(), child, log, begins })
    }

    /// The process id on the machine.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The log.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Waits until `probe` succeeds; fails at once if the service has ended.
    pub fn wait<T>(
        &mut self,
        what: &str,
        within: Duration,
        mut probe: impl FnMut() -> Result<T, String>,
    ) -> Result<T, Error> {
        let mut ended = None;
        let (name, log, child) = (&self.name, &self.log, &mut self.child);
        let result = wait_until(&format!("{name}: {what}"), within, || match child.try_wait() {
            Ok(None) => probe().map(Some),
            Ok(Some(status)) => {
                ended = Some(status.to_string());
                Ok(None)
            }
            Err(error) => Err(error.to_string()),
        })?;
        result.ok_or_else(|| Error::Ended {
            service: name.clone(),
            status: ended.unwrap_or_default(),
            tail: log.tail(20),
        })
    }

    /// Waits until it has written `text` to its log.
    pub fn wait_for_log(&mut self, text: &str, within: Duration) -> Result<(), Error> {
        let (log, begins) = (self.log.clone(), self.begins);
        self.wait(&format!("writes {text:?} to its log"), within, || {
            let written = log.since(begins).iter().any(|line| line.contains(text));
            if written { Ok(()) } else { Err(log.tail(3)) }
        })
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) -> Result<(), Error> {
        let started = self.id();
        let name = fs::read_to_string(format!("/proc/{started}/comm")).unwrap_or_default();
        // In namespaces, it is a child of `nsenter`.
        let id = if name.trim() == "nsenter" { only_child(started)? } else { started };
        let process = Pid::from_raw(id.cast_signed()).ok_or(Errno::SRCH);
        let sent = process.and_then(|process| kill_process(process, signal));
        sent.map_err(Into::into).doing("sending a signal to", Path::new(&self.name))
    }

    /// Returns the exit status if the program has ended.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.child.try_wait().doing("waiting for", Path::new(&self.name))
    }

    /// Waits until the program has ended, and returns its exit status.
    pub fn wait_for_end(&mut self, within: Duration) -> Result<ExitStatus, Error> {
        let (name, log, child) = (&self.name, &self.log, &mut self.child);
        wait_until(&format!("{name}: ends"), within, || {
            let ended = child.try_wait().map_err(|error| error.to_string())?;
            ended.ok_or_else(|| format!("it runs, and its log ends with:\n{}", log.tail(5)))
        })
    }

    /// Asks the program to end, with SIGTERM, unless it has already ended. Returns its exit status.
    pub fn terminate(&mut self, within: Duration) -> Result<ExitStatus, Error> {
        if let Some(status) = self.ended()? {
            return Ok(status);
        }
        self.signal(Signal::TERM)?;
        self.wait_for_end(within)
    }

    /// Stops the program where it is, as if its machine slept, until [`Service::resume`].
    pub fn pause(&self) -> Result<(), Error> {
        self.signal(Signal::STOP)
    }

    /// Lets a paused program go on.
    pub fn resume(&self) -> Result<(), Error> {
        self.signal(Signal::CONT)
    }

    /// Ends the program at once, with SIGKILL. Its files are deleted with its folder, so it does not have to shut down cleanly.
    pub fn stop(&mut self) {
        // Both fail only if the child is already gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The log of a service.
#[derive(Clone, Debug)]
pub struct Log {
    path: PathBuf,
}

impl Log {
    /// The log of a service called `name` in the folder `logs`.
    pub(crate) fn of(logs: &Path, name: &str) -> Self {
        Self { path: logs.join(format!("{name}.log")) }
    }

    /// The whole text; empty if there is no log yet.
    #[must_use]
    pub fn text(&self) -> String {
        fs::read(&self.path)
            .map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The current length, for [`Log::since`].
    #[must_use]
    pub fn mark(&self) -> usize {
        self.text().len()
    }

    /// Returns the lines written after `mark`.
    #[must_use]
    pub fn since(&self, mark: usize) -> Vec<String> {
        let text = self.text();
        text.get(mark..).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Returns the last `count` lines.
    #[must_use]
    pub fn tail(&self, count: usize) -> String {
        let text = self.text();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }
}
