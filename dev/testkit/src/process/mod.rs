//! Programs that run while a test runs, and never longer.

mod kept;
mod service;

use std::{
    env, fs, io,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::{
        LazyLock,
        mpsc::{Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    Error,
    error::Doing,
    programs::{find, search_path},
};

pub use kept::Kept;
pub use rustix::process::Signal;
pub use service::{Log, Service};

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
