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
mod predecessor;
mod pull;
mod reload;
mod report;
mod request;
mod serve;
mod service;
mod signals;
mod succession;
mod successor;
mod sweep;
mod tickets;
mod upstream;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::DumpableBehavior;

use crate::listen::Listening;
use crate::metrics::Metrics;
use crate::node::NodeConfiguration;
use crate::notify::Notify;
use crate::predecessor::Predecessor;
use crate::report::{Level, report};
use crate::service::Service;
use crate::signals::StopSignals;
use crate::succession::Succession;
use crate::successor::Invocation;
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
    /// The process that serves did not let this one take over.
    #[error("cannot take over from the process that serves: {0}; its log says why")]
    TakeOver(io::Error),
}

/// The whole program: parses the command line, whose first word is the program, runs the command and returns an exit
/// code.
#[must_use]
pub fn main(words: impl IntoIterator<Item = OsString>, var: impl Fn(&str) -> Option<OsString>) -> ExitCode {
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let invocation = Invocation { program, arguments: words.collect() };
    let command = match parse(invocation.arguments.iter().cloned(), &var) {
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
        Command::Reload(options) => reload::run(&options),
        Command::Serve(options) => match run(options, invocation, &var) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                report(Level::Error, format_args!("{error}"));
                ExitCode::FAILURE
            }
        },
    }
}

fn run(
    options: Options,
    invocation: Invocation,
    var: &dyn Fn(&str) -> Option<OsString>,
) -> Result<(), Error> {
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
    let ended = runtime.block_on(start(options, invocation, var));
    // Nobody waits for the result of a file that is still being read.
    runtime.shutdown_background();
    ended
}

async fn start(
    options: Options,
    invocation: Invocation,
    var: &dyn Fn(&str) -> Option<OsString>,
) -> Result<(), Error> {
    let notify = Arc::new(Notify::from_vars(var));
    let stop = StopSignals::new().map_err(Error::Start)?;
    let reload = signals::reload().map_err(Error::Start)?;
    let metrics = Arc::new(Metrics::default());
    let upstream = Upstream::new(options.containerd.clone(), metrics.clone());
    let node = NodeConfiguration::new(options.clone(), var, metrics.clone());
    let service = Arc::new(Service::new(upstream, node, metrics.clone()));
    let exposed = options.metrics.clone().map(|path| (path, metrics.clone()));
    let mut succession =
        Succession { reload, invocation, notify: notify.clone(), metrics: exposed, heartbeat: None };
    let predecessor = Predecessor::from_vars(var).map_err(Error::TakeOver)?;
    let predecessor_lives = predecessor.is_some();
    let listening = if let Some((predecessor, socket)) = predecessor {
        let mut listening = Listening::inherit(&options.listen, socket)?;
        predecessor.relieve().await.map_err(Error::TakeOver)?;
        listening.claim().map_err(Error::TakeOver)?;
        listening
    } else {
        for path in [Some(&options.listen), options.metrics.as_ref()].into_iter().flatten() {
            listen::free(path).await?;
        }
        listen::replace(&options.listen)?
    };
    succession.serve()?;
    // Only now that the service listens: from here on, plugins give out tickets.
    tickets::announce(&options);
    tokio::spawn(sweep::run(options.clone(), metrics, predecessor_lives));
    report(
        Level::Info,
        format_args!(
            "serving on {}, containerd at {}",
            options.listen.display(),
            options.containerd.display()
        ),
    );
    if !predecessor_lives {
        notify.say("READY=1");
    }
    serve::serve(listening, service, succession, stop, options.drain).await;
    Ok(())
}

fn say(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        // A reader that closes the pipe has what it wanted.
        _ => ExitCode::SUCCESS,
    }
}
