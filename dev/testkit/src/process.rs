//! Programs that run while a test runs, and never longer.

use std::{
    env,
    fs::{self, File},
    io,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        LazyLock,
        mpsc::{Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process},
};

use crate::{
    Error,
    error::Doing,
    programs::{find, search_path},
};

/// Where a program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// On the machine itself.
    #[default]
    Host,
    /// In the namespaces of the process with this id.
    Inside(u32),
}

/// With this prefix, the kernel kills a program when its parent dies.
const WITH_PARENT: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];

impl Place {
    /// Returns a command that runs `program` here, with a clean environment, and that ends with the process that starts it.
    pub fn command(self, program: &str) -> Result<Command, Error> {
        let program = find(program)?;
        let mut command = Command::new(WITH_PARENT[0]);
        command.args(&WITH_PARENT[1..]);
        if let Self::Inside(init) = self {
            let target = init.to_string();
            command.args(["nsenter", "--target", &target, "-m", "-n", "-p", "-i", "-u", "--"]);
            // Entering a pid namespace forks: the program itself is a child of `nsenter`.
            command.args(WITH_PARENT);
        }
        command.arg(program);
        let home = env::var_os("HOME").unwrap_or_else(|| "/root".into());
        command.env_clear().env("PATH", search_path()).env("HOME", home);
        Ok(command)
    }

    /// Runs a command to its end and returns its output.
    pub fn run(self, program: &str, args: &[&str]) -> Result<String, Error> {
        let mut command = self.command(program)?;
        command.args(args);
        finish(command, &format!("{program} {}", args.join(" ")))
    }
}

/// Runs `command` and returns its standard output; errors call it `title`.
pub(crate) fn finish(mut command: Command, title: &str) -> Result<String, Error> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = spawn(command).doing("starting", Path::new(title))?;
    outcome(child.wait_with_output(), title)
}

/// Returns the standard output of a finished command, or the reason why it failed.
pub(crate) fn outcome(output: io::Result<Output>, title: &str) -> Result<String, Error> {
    let output = output.doing("waiting for", Path::new(title))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(Error::Command {
        command: title.to_owned(),
        status: output.status.to_string(),
        output: text + &String::from_utf8_lossy(&output.stderr),
    })
}

/// A command to start, and the channel that gets the child.
type Order = (Command, Sender<io::Result<Child>>);

/// Starts every child from one thread that lives as long as the process.
///
/// The kernel's "die with the parent" refers to the parent *thread*: a service started by the thread of one test would be
/// killed at the end of that test, even if a later test still uses it.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    static STARTER: LazyLock<Sender<Order>> = LazyLock::new(|| {
        let (orders, inbox) = channel::<Order>();
        thread::spawn(move || {
            for (mut command, reply) in inbox {
                // If nobody waits for this child any more, the thread must still serve the others.
                let _ = reply.send(command.spawn());
            }
        });
        orders
    });
    let (reply, answer) = channel();
    STARTER.send((command, reply)).map_err(io::Error::other)?;
    answer.recv().map_err(io::Error::other)?
}

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

    /// Ends the program at once. Its files are deleted with its folder, so it does not have to shut down cleanly.
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

/// Calls `probe` until it succeeds. Its error says why it does not succeed yet; the last one is shown after the time limit.
pub fn wait_until<T>(
    what: &str,
    within: Duration,
    mut probe: impl FnMut() -> Result<T, String>,
) -> Result<T, Error> {
    let begun = Instant::now();
    loop {
        match probe() {
            Ok(value) => return Ok(value),
            Err(reason) if begun.elapsed() > within => {
                return Err(Error::Deadline { what: what.to_owned(), within, reason });
            }
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Waits until a process has a child, and returns it.
pub(crate) fn only_child(parent: u32) -> Result<u32, Error> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    wait_until(&format!("process {parent} has a child"), Duration::from_secs(5), || {
        let children = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        children.trim().parse().map_err(|_| format!("{path} says {children:?}"))
    })
}

/// Returns ports of the loopback on which nobody is listening.
pub fn free_ports<const COUNT: usize>() -> Result<[u16; COUNT], Error> {
    // All of them are held before any is released, so that they differ.
    let held = [(); COUNT].map(|()| TcpListener::bind(("127.0.0.1", 0)));
    let mut ports = [0; COUNT];
    for (port, listener) in ports.iter_mut().zip(held) {
        let address = listener.and_then(|listener| listener.local_addr());
        *port = address.doing("taking a port of", Path::new("127.0.0.1"))?.port();
    }
    Ok(ports)
}
