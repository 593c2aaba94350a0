//! A program that is started again whenever it ends, as the kubelet does with a container.

use std::{
    path::Path,
    process::{Command, ExitStatus},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use super::{Log, Service, Signal, wait_until};
use crate::Error;

/// How often the keeper looks whether the program still runs.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The time limit for the next run to begin. It is generous, like all limits of tests.
const NEXT_RUN_WITHIN: Duration = Duration::from_mins(1);

/// A program that is started again whenever it ends, until this value is dropped. All its runs write to one log.
#[derive(Debug)]
pub struct Kept {
    run: Arc<Mutex<Run>>,
    log: Log,
    keeper: Option<(Sender<()>, JoinHandle<()>)>,
}

/// The program as the keeper sees it.
#[derive(Debug)]
struct Run {
    /// The current run, or the last one if it has just ended.
    service: Service,
    exits: Vec<ExitStatus>,
    /// Why there is no further run.
    failed: Option<Error>,
}

impl Kept {
    /// Starts the command that `make` returns as `name`, with its log in `logs`, and again `pause` after each end.
    pub fn start(
        name: &str,
        logs: &Path,
        pause: Duration,
        make: impl Fn() -> Result<Command, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let (name, logs) = (name.to_owned(), logs.to_owned());
        let start = move || Service::start(&name, make()?, &logs);
        let service = start()?;
        let log = service.log().clone();
        let run = Arc::new(Mutex::new(Run { service, exits: Vec::new(), failed: None }));
        let kept = Arc::clone(&run);
        let (end, ended) = channel::<()>();
        let keeper = thread::spawn(move || {
            // The other side only ever hangs up.
            let goes_on_after = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            while goes_on_after(LOOK_EVERY) {
                let ended = lock(&kept).note_end();
                match ended {
                    Ok(false) => continue,
                    Ok(true) if goes_on_after(pause) => {}
                    _ => return,
                }
                match start() {
                    Ok(service) => lock(&kept).service = service,
                    Err(error) => {
                        lock(&kept).failed = Some(error);
                        return;
                    }
                }
            }
        });
        Ok(Self { run, log, keeper: Some((end, keeper)) })
    }

    /// The log of all runs.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// How the runs so far have ended, first to last.
    #[must_use]
    pub fn exits(&self) -> Vec<ExitStatus> {
        lock(&self.run).exits.clone()
    }

    /// Waits until `count` runs have ended, and returns how.
    pub fn wait_for_exits(&self, count: usize, within: Duration) -> Result<Vec<ExitStatus>, Error> {
        self.wait(&format!("{count} runs have ended"), within, |run| {
            let exits = run.exits.clone();
            if exits.len() >= count { Ok(Ok(exits)) } else { Err(format!("{exits:?}")) }
        })
    }

    /// The process id of the current run. Between two runs, it waits for the next.
    pub fn id(&self) -> Result<u32, Error> {
        self.with_run(|run| Ok(run.service.id()))
    }

    /// Sends a signal to the current run. Between two runs, it waits for the next.
    pub fn signal(&self, signal: Signal) -> Result<(), Error> {
        self.with_run(|run| run.service.signal(signal))
    }

    /// Ends the current run at once, with SIGKILL, and waits until it is gone. The next one begins by itself.
    pub fn kill(&self) -> Result<(), Error> {
        let before = self.with_run(|run| run.service.signal(Signal::KILL).map(|()| run.exits.len()))?;
        self.wait_for_exits(before + 1, NEXT_RUN_WITHIN).map(drop)
    }

    /// Does something with a run that has not ended.
    fn with_run<T>(&self, act: impl Fn(&Run) -> Result<T, Error>) -> Result<T, Error> {
        self.wait("the next run", NEXT_RUN_WITHIN, |run| match run.service.ended() {
            Ok(None) => Ok(act(run)),
            Ok(Some(status)) => Err(format!("the last run has ended: {status}")),
            Err(error) => Ok(Err(error)),
        })
    }

    /// Waits until `probe` succeeds or fails for good; fails at once if there will be no further run.
    fn wait<T>(
        &self,
        what: &str,
        within: Duration,
        mut probe: impl FnMut(&mut Run) -> Result<Result<T, Error>, String>,
    ) -> Result<T, Error> {
        wait_until(what, within, || {
            let mut run = lock(&self.run);
            probe(&mut run).or_else(|reason| run.failed.take().map_or(Err(reason), |error| Ok(Err(error))))
        })?
    }

    /// Asks the program to end for good, with SIGTERM, and returns its exit status.
    pub fn terminate(&mut self, within: Duration) -> Result<ExitStatus, Error> {
        self.release();
        lock(&self.run).service.terminate(within)
    }

    /// Ends the keeper, but not the program.
    fn release(&mut self) {
        if let Some((end, keeper)) = self.keeper.take() {
            drop(end);
            let _ = keeper.join();
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.release();
    }
}

impl Run {
    /// Notes the exit status if the current run has ended; `false` if it has not.
    fn note_end(&mut self) -> Result<bool, Error> {
        let ended = self.service.ended()?;
        self.exits.extend(ended);
        Ok(ended.is_some())
    }
}

fn lock(run: &Mutex<Run>) -> MutexGuard<'_, Run> {
    run.lock().unwrap_or_else(PoisonError::into_inner)
}
