//! `pullwright-images`: a CRI image service in front of containerd that does CRI-O's half of the auth-file contract.
//!
//! ```text
//! kubelet ─► serve ─► service ──────────────── any call, as it is ───────────────► upstream ─► containerd
//!                        └─► pull ─► node (claims the auth file, reads the rest)        ▲
//!                             │       └─► decide: which credential for which host       │
//!                             └── one call for each, auth replaced, until one works ────┘
//! ```
//!
//! It is an HTTP/2 proxy: a call's path, headers, messages and trailers pass through unchanged, so deadlines, metadata,
//! streams, compression, unknown fields and future methods need no code here. Dropping one side resets the other: that
//! is cancellation. The service reads only pulls.

mod answer;
mod auth_config;
mod body;
mod check;
mod containerd_answer;
mod decide;
mod exposition;
mod grpc;
mod listen;
mod metrics;
mod node;
mod notify;
mod options;
mod pull;
mod report;
mod request;
mod serve;
mod service;
mod sweep;
mod tickets;
mod upstream;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::DumpableBehavior;
use tokio::signal::unix::{SignalKind, signal};

use crate::metrics::Metrics;
use crate::node::NodeConfiguration;
use crate::notify::Notify;
use crate::report::{Level, report};
use crate::service::Service;
use crate::upstream::Upstream;

pub use listen::ListenError;
pub use options::{Command, Options, parse};

/// Why the service cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The socket could not be opened.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The operating system refused what the event loop needs.
    #[error("cannot start: {0}")]
    Start(io::Error),
}

/// The whole program: parses the command line, runs the command and returns an exit code.
#[must_use]
pub fn main(
    arguments: impl IntoIterator<Item = OsString>,
    var: impl Fn(&str) -> Option<OsString>,
) -> ExitCode {
    let command = match parse(arguments, &var) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("pullwright-images: {error}\nTry --help.");
            return ExitCode::from(2);
        }
    };
    match command {
        Command::Help => say(&options::PROGRAM.help()),
        Command::Version => say(concat!("pullwright-images (pullwright) ", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Check(options) => check::run(&options, &var),
        Command::Serve(options) => match run(options, &var) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                report(Level::Error, format_args!("{error}"));
                ExitCode::FAILURE
            }
        },
    }
}

fn run(options: Options, var: &dyn Fn(&str) -> Option<OsString>) -> Result<(), Error> {
    // Write no core file: it would hold the credentials of running pulls.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // For the files of pulls. Each read takes well under a millisecond; even a thousand pulls at once need few
        // threads.
        .max_blocking_threads(4)
        .thread_keep_alive(Duration::from_secs(1))
        .build()
        .map_err(Error::Start)?;
    let ended = runtime.block_on(start(options, var));
    // Nobody waits for the result of a file that is still being read.
    runtime.shutdown_background();
    ended
}

async fn start(options: Options, var: &dyn Fn(&str) -> Option<OsString>) -> Result<(), Error> {
    let notify = Arc::new(Notify::from_vars(var));
    let (mut term, mut interrupt) = (
        signal(SignalKind::terminate()).map_err(Error::Start)?,
        signal(SignalKind::interrupt()).map_err(Error::Start)?,
    );
    let metrics = Arc::new(Metrics::default());
    let listening = listen::listen(&options.listen).await?;
    if let Some(path) = &options.metrics {
        exposition::expose(path, metrics.clone()).await?;
    }
    let upstream = Upstream::new(options.containerd.clone(), metrics.clone());
    let node = NodeConfiguration::new(options.clone(), var, metrics.clone());
    let service = Arc::new(Service::new(upstream, node, metrics.clone()));
    // Only now that the service listens: from here on, plugins give out tickets.
    tickets::announce(&options);
    tokio::spawn(sweep::run(options.clone(), metrics));
    if let Some(every) = notify.watchdog {
        tokio::spawn(alive(notify.clone(), every));
    }
    report(
        Level::Info,
        format_args!(
            "serving on {}, containerd at {}",
            options.listen.display(),
            options.containerd.display()
        ),
    );
    notify.say("READY=1");
    let stop = async {
        tokio::select! {
            _ = term.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    };
    serve::serve(listening, service, stop, options.drain, || notify.say("STOPPING=1")).await;
    Ok(())
}

/// Tells systemd that calls are being served. It runs on the thread that serves them.
async fn alive(notify: Arc<Notify>, every: Duration) {
    let mut tick = tokio::time::interval(every);
    loop {
        tick.tick().await;
        notify.say("WATCHDOG=1");
    }
}

fn say(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        // A reader that closes the pipe has what it wanted.
        _ => ExitCode::SUCCESS,
    }
}
