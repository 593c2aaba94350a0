//! Runs a tier that mostly waits in parallel with those that compute. Its output is shown in one piece when it has ended.

use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::cargo::{ended, passed_in, shown};
use crate::tier::Outcome;

/// A running tier.
pub(crate) struct Beside {
    begun: Instant,
    running: JoinHandle<Ended>,
}

struct Ended {
    outcome: Outcome,
    printed: Vec<String>,
    took: Duration,
}

impl Beside {
    /// Starts the tests of `command`, or nothing if there is a reason not to.
    pub(crate) fn begin(command: Result<Command, Outcome>) -> Self {
        let begun = Instant::now();
        let running = std::thread::spawn(move || {
            let (outcome, printed) = match command {
                Ok(command) => test(command),
                Err(outcome) => (outcome, Vec::new()),
            };
            Ended { outcome, printed, took: begun.elapsed() }
        });
        Self { begun, running }
    }

    /// Waits for the end, prints the output, and returns the outcome and the duration.
    pub(crate) fn end(self) -> (Outcome, Duration) {
        let Ok(Ended { outcome, printed, took }) = self.running.join() else {
            let why = "the thread that ran it broke off".to_owned();
            return (Outcome::Failed { why }, self.begun.elapsed());
        };
        for line in printed {
            println!("{line}");
        }
        (outcome, took)
    }
}

/// Runs tests like [`crate::cargo::test`], but keeps the output.
fn test(mut command: Command) -> (Outcome, Vec<String>) {
    let shown = shown(&command);
    let mut printed = vec![format!("$ {shown}")];
    let begun = std::io::pipe().and_then(|(reader, writer)| {
        let child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
        Ok((reader, child))
    });
    // The command holds the writing ends of the pipe, and reading ends only when all of them are closed.
    drop(command);
    let (reader, mut child) = match begun {
        Ok(begun) => begun,
        Err(error) => return (Outcome::Failed { why: format!("{shown}: {error}") }, printed),
    };
    printed.extend(lines(reader));
    let passed = printed.iter().filter_map(|line| passed_in(line)).sum();
    (ended(&shown, child.wait(), passed), printed)
}

fn lines(reader: impl Read) -> impl Iterator<Item = String> {
    BufReader::new(reader).lines().map_while(Result::ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_tier_prints_is_kept_and_counted() {
        let (outcome, printed) = test(shell("echo 'test result: ok. 3 passed; 0 failed'; echo warning >&2"));
        assert_eq!(outcome, Outcome::Passed { tests: Some(3) });
        assert!(printed.iter().any(|line| line == "warning"), "{printed:?}");
    }

    #[test]
    fn a_tier_that_fails_or_runs_no_test_is_failed() {
        for script in ["echo 'test result: ok. 3 passed; 0 failed'; exit 1", "true"] {
            let (outcome, _) = Beside::begin(Ok(shell(script))).end();
            assert!(matches!(outcome, Outcome::Failed { .. }), "{script}: {outcome:?}");
        }
    }

    #[test]
    fn a_tier_that_cannot_run_says_why() {
        let why = || Outcome::NotRun { why: "no go".to_owned() };
        assert_eq!(Beside::begin(Err(why())).end().0, why());
    }
}
