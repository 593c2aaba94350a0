//! The command line of Pullwright: shows people and scripts what the engine decides about a pull.
//!
//! ```text
//! args ──► inputs (files → engine's values) ──► engine ──► explain, resolve: a rendering of the plan
//!      ├─► render, diff (mirror sets)     ──► nodeconfig: a node's files, and what changes in them
//!      ├─► lint   (files → findings)        ──► diagnostics that point at line and column
//!      └─► status (objects of a cluster)    ──► a report on what is where
//! ```
//!
//! Exit codes: 0 success, 1 findings, 2 invalid usage or an input that cannot be read.

mod args;
mod diagnostic;
mod diff;
mod explain;
mod import;
mod inputs;
mod lint;
mod migrate;
mod output;
mod planned;
mod pull;
mod rbac;
mod render;
mod resolve;
mod status;
mod style;
mod verdicts;
mod words;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory as _;

pub use args::Arguments;
use args::Command;

/// Receives the answer and the messages of a command.
pub struct Streams<'a> {
    /// Receives the answer.
    pub out: &'a mut dyn Write,
    /// Receives warnings and errors.
    pub err: &'a mut dyn Write,
}

/// The result of a run, which becomes the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    /// Success.
    Good,
    /// There are findings: a problem in a file or a cluster, or a pull that cannot work.
    Findings,
    /// There is no answer: an input is invalid or cannot be read, or the cluster cannot be asked.
    Unreadable,
}

impl From<RunOutcome> for ExitCode {
    fn from(outcome: RunOutcome) -> Self {
        Self::from(match outcome {
            RunOutcome::Good => 0,
            RunOutcome::Findings => 1,
            RunOutcome::Unreadable => 2,
        })
    }
}

/// Why a command gives no answer.
enum Failure {
    /// An input is missing or invalid.
    Input(diagnostic::Message),
    /// The answer could not be written.
    Write(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Runs one command.
#[must_use]
pub fn run(arguments: &Arguments, mut streams: Streams<'_>) -> RunOutcome {
    let result = dispatch(arguments, &mut streams).and_then(|outcome| {
        streams.out.flush()?;
        Ok(outcome)
    });
    match result {
        Ok(outcome) => outcome,
        // Whoever reads has seen enough: `pullwright … | head`.
        Err(Failure::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => RunOutcome::Good,
        Err(Failure::Write(error)) => {
            // Nothing can be done if this cannot be written either.
            let _ = writeln!(streams.err, "error: writing the answer: {error}");
            RunOutcome::Unreadable
        }
        Err(Failure::Input(message)) => {
            let _ = message.write(streams.err);
            RunOutcome::Unreadable
        }
    }
}

fn dispatch(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
    match &arguments.command {
        Command::Explain(arguments) => explain::run(arguments, streams),
        Command::Resolve(arguments) => resolve::run(arguments, streams),
        Command::Pull(arguments) => pull::run(arguments, streams),
        Command::Lint(arguments) => lint::run(arguments, streams),
        Command::Render(arguments) => render::run(arguments, streams),
        Command::Diff(arguments) => diff::run(arguments, streams),
        Command::Migrate(arguments) => migrate::run(arguments, streams),
        Command::Import(arguments) => import::run(arguments, streams),
        Command::Rbac(arguments) => rbac::run(arguments, streams),
        Command::Status(arguments) => status::run(arguments, streams),
        Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut Arguments::command(), "pullwright", streams.out);
            Ok(RunOutcome::Good)
        }
        Command::Man => {
            clap_mangen::Man::new(Arguments::command()).render(streams.out)?;
            Ok(RunOutcome::Good)
        }
    }
}
