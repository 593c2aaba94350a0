//! The kubelet plugin `crio-credential-provider`: reads a request from standard input, writes an auth file for the
//! runtime, and answers on standard output.
//!
//! ```text
//! stdin ─► Request ─► namespace ─► sources (registries.conf) ─► Secrets ─► selection ─► auth file ─► stdout
//!          engine      token        engine, nodefiles            source     engine       handover     engine
//! ```
//!
//! The engine makes every decision. This crate reads the files, asks the API server once, and hands over the engine's
//! result. It exits with 0 when there is nothing to provide: the kubelet then pulls without it.

mod answer;
mod apart;
mod check;
mod cluster;
mod error;
mod http;
mod journal;
mod options;
mod outcome;
mod run;
mod run_log;
pub mod secrets;
mod shown;
mod tidying;
mod version;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use rustix::process::DumpableBehavior;

pub use cluster::{Cluster, ClusterError};
pub use error::Error;
pub use options::{Command, Options, OptionsError, SecretsFrom};
pub use outcome::PluginOutcome;
pub use run::{Env, run};
pub use run_log::{LogLevel, RunLog};

/// The whole program: parses the command line, runs the command and returns an exit code.
///
/// 0: answered (with or without credentials). 1: an error; the kubelet pulls without this plugin. 2: wrong usage.
#[must_use]
pub fn main(
    arguments: impl IntoIterator<Item = OsString>,
    var: impl Fn(&str) -> Option<OsString>,
) -> ExitCode {
    let command = match options::parse(arguments, &var) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("crio-credential-provider: {error}\nTry --help.");
            return ExitCode::from(2);
        }
    };
    if matches!(command, Command::Provide(_) | Command::Check { .. }) {
        // Write no core file, whatever core_pattern says: it would hold the token and every credential. If the system
        // refuses, go on: the pull matters more.
        let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    let result = match command {
        Command::Help => say(&options::PROGRAM.help()),
        Command::Version => say(&version::text()),
        Command::VersionJson => say(&version::json()),
        Command::Sweep(options) => run::sweep(&options),
        Command::Check { options, request, namespace } => check::run(&options, &request, namespace, &var),
        Command::Provide(options) => provide(&options, &var),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("crio-credential-provider: {error}");
            ExitCode::from(1)
        }
    }
}

fn provide(options: &Options, var: &impl Fn(&str) -> Option<OsString>) -> Result<(), Error> {
    let report = RunLog::new(journal::Journal::connect(&options.journal_socket));
    let env = Env { options, var, report: &report };
    let result = run(&env, io::stdin().lock(), io::stdout().lock());
    let reason = result.as_ref().map_or_else(Error::reason, PluginOutcome::reason);
    if let Err(error) = pullwright_outcomes::count(&options.outcomes_dir, reason) {
        let folder = options.outcomes_dir.display();
        report.passed_over(format_args!("cannot count {} in {folder}: {error}", reason.name()));
    }
    match &result {
        Ok(outcome) => report.close(outcome),
        Err(error) => report.failed(error),
    }
    result.map(drop)
}

fn say(text: &str) -> Result<(), Error> {
    match io::stdout().write_all(text.as_bytes()) {
        // A reader that closes the pipe has what it wanted.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(Error::Answer),
    }
}
