//! `pullwright-bench-operator OPERATOR [--json]`: measures the operator in a large cluster, and fails if it breaks a promise. `cargo xtask
//! bench operator` builds what it needs and runs it. `pullwright-bench-operator --simulation` only simulates roll-outs.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use pullwright_bench::operator;

const USAGE: &str = "usage: pullwright-bench-operator OPERATOR [--json] | --simulation";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("pullwright-bench-operator: {error:#}");
            ExitCode::from(1)
        }
    }
}

fn run() -> Result<bool> {
    let (mut program, mut json) = (None, false);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            "--simulation" => {
                print!("{}", operator::rollouts()?);
                return Ok(true);
            }
            _ if program.is_none() && !argument.starts_with('-') => program = Some(PathBuf::from(argument)),
            _ => bail!("unknown argument {argument:?}; {USAGE}"),
        }
    }
    let measurements = operator::run(&program.context(USAGE)?)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&measurements)?);
    } else {
        print!("{measurements}");
    }
    Ok(measurements.all_met())
}
