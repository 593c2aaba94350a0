//! The binary: hands the process's arguments and streams to the library, and its outcome to the shell.

use std::process::ExitCode;

use clap::Parser as _;
use pullwright::{Arguments, Streams};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let streams = Streams { out: &mut anstream::stdout().lock(), err: &mut anstream::stderr().lock() };
    pullwright::run(&arguments, streams).into()
}
