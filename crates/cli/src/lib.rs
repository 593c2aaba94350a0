//! The command line of Pullwright: what the engine decides about a pull, for people and for scripts.
//!
//! ```text
//! args ──► inputs (files → engine's values) ──► engine ──► explain, resolve: a rendering of the plan
//!      └─► lint   (files → findings)        ──► diagnostics that point at line and column
//! ```
//!
//! Exit codes: 0 all is well, 1 findings, 2 wrong usage or an input that cannot be read.

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
mod render;
mod resolve;
mod style;
mod verdicts;
mod words;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory as _;

pub use args::Arguments;
use args::Command;

/// Where to write: answers to one, messages to the other.
pub struct Streams<'a> {
    /// For the answer.
    pub out: &'a mut dyn Write,
    /// For warnings and errors.
    pub err: &'a mut dyn Write,
}

/// How a run ended, as the shell is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Good,
    /// Something was found: a fault in a file, or a pull that cannot work.
    Findings,
    /// The question cannot be answered.
    Unreadable,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Good => 0,
            Outcome::Findings => 1,
            Outcome::Unreadable => 2,
        })
    }
}

/// Why a command gives no answer.
enum Failure {
    /// An input is missing or broken; already in words for a person.
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
pub fn run(arguments: &Arguments, mut streams: Streams<'_>) -> Outcome {
    let result = dispatch(arguments, &mut streams).and_then(|outcome| {
        streams.out.flush()?;
        Ok(outcome)
    });
    match result {
        Ok(outcome) => outcome,
        // Whoever reads has seen enough: `pullwright … | head`.
        Err(Failure::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Outcome::Good,
        Err(Failure::Write(error)) => {
            // Nothing can be done if this cannot be written either.
            let _ = writeln!(streams.err, "error: writing the answer: {error}");
            Outcome::Unreadable
        }
        Err(Failure::Input(message)) => {
            let _ = message.write(streams.err);
            Outcome::Unreadable
        }
    }
}

fn dispatch(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    match &arguments.command {
        Command::Explain(arguments) => explain::run(arguments, streams),
        Command::Resolve(arguments) => resolve::run(arguments, streams),
        Command::Pull(arguments) => pull::run(arguments, streams),
        Command::Lint(arguments) => lint::run(arguments, streams),
        Command::Render(arguments) => render::run(arguments, streams),
        Command::Diff(arguments) => diff::run(arguments, streams),
        Command::Migrate(arguments) => migrate::run(arguments, streams),
        Command::Import(arguments) => import::run(arguments, streams),
        Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut Arguments::command(), "pullwright", streams.out);
            Ok(Outcome::Good)
        }
        Command::Man => {
            clap_mangen::Man::new(Arguments::command()).render(streams.out)?;
            Ok(Outcome::Good)
        }
    }
}
