//! Who serves: this process, until another takes over, and again if that one crashes while this one still finishes its
//! calls. systemd is told each time.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;

use rustix::process::Pid;
use tokio::signal::unix::Signal;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval_at};

use crate::exposition;
use crate::listen::{self, ListenError, Listening};
use crate::metrics::Metrics;
use crate::notify::Notify;
use crate::report::{Level, report};
use crate::successor::{Invocation, Successor};

/// What makes a process the one that serves, apart from the socket, and how it finds a successor.
#[derive(Debug)]
pub(crate) struct Succession {
    /// Asks for a successor.
    pub(crate) reload: Signal,
    pub(crate) invocation: Invocation,
    pub(crate) notify: Arc<Notify>,
    /// The socket of the metrics.
    pub(crate) metrics: Option<(PathBuf, Arc<Metrics>)>,
    /// Tells systemd that this process is alive.
    pub(crate) heartbeat: Option<JoinHandle<()>>,
}

impl Succession {
    /// Takes over what belongs to the process that serves. If a predecessor or a successor had the metrics' socket, this
    /// process replaces it.
    pub(crate) fn serve(&mut self) -> Result<(), ListenError> {
        if let Some(every) = self.notify.watchdog {
            let notify = self.notify.clone();
            self.heartbeat = Some(tokio::spawn(async move {
                // It runs on the thread that serves calls. Whoever made this process the main one has just sent a
                // keep-alive, and systemd may not know yet that the next comes from here.
                let mut tick = interval_at(Instant::now() + every, every);
                loop {
                    tick.tick().await;
                    notify.say("WATCHDOG=1");
                }
            }));
        }
        match &self.metrics {
            Some((path, metrics)) => {
                exposition::expose(listen::replace(path)?, metrics.clone());
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Waits until this process is asked for a successor and has one that serves.
    pub(crate) async fn successor(&mut self, listening: &Listening) -> Successor {
        loop {
            self.reload.recv().await;
            self.notify.say("RELOADING=1");
            match Successor::start(&self.invocation, &listening.listener).await {
                Ok(mut successor) => {
                    report(
                        Level::Info,
                        format_args!(
                            "process {} serves now; this one ends after its last call",
                            successor.process.as_raw_pid()
                        ),
                    );
                    if let Some(heartbeat) = self.heartbeat.take() {
                        heartbeat.abort();
                    }
                    // First systemd: whoever sees the new process serve finds it as the main process.
                    self.notify.say(&main_process(successor.process));
                    successor.serve().await;
                    return successor;
                }
                Err(error) => {
                    report(Level::Error, format_args!("no reload: {error}; this process goes on serving"));
                    self.notify.say("READY=1");
                }
            }
        }
    }

    /// Waits until the successor crashes. If it had a successor itself, that one serves, and this waits forever.
    pub(crate) async fn orphaned(listening: &Listening, successor: &mut Successor) -> ExitStatus {
        let status = successor.crashed().await;
        // It is this process still, if the successor did not get that far.
        if ![successor.process, rustix::process::getpid()]
            .iter()
            .any(|process| listening.is_served_by(*process))
        {
            std::future::pending::<()>().await;
        }
        status
    }

    /// Serves again after the successor crashed.
    pub(crate) fn serve_again(&mut self, listening: &mut Listening, status: ExitStatus) {
        if let Err(error) = listening.claim() {
            report(Level::Error, format_args!("cannot claim the socket: {error}; restart the service"));
        }
        self.notify.say(&main_process(rustix::process::getpid()));
        if let Err(error) = self.serve() {
            report(Level::Error, format_args!("no metrics: {error}"));
        }
        report(
            Level::Error,
            format_args!("the process that had taken over ended ({status}); this one serves again"),
        );
    }
}

/// Tells systemd which process to watch. The keep-alive gives that process the full time for its first own one.
fn main_process(process: Pid) -> String {
    format!("MAINPID={}\nREADY=1\nWATCHDOG=1", process.as_raw_pid())
}
