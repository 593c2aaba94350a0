//! `pullwright-bench-images SERVICE [--rounds N] [--json]`: measures the image service beside containerd itself. `cargo xtask
//! bench images` builds what it needs and runs it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use pullwright_bench::images;

/// How often each call is made each way, unless told.
const ROUNDS: usize = 2000;
const USAGE: &str = "usage: pullwright-bench-images SERVICE [--rounds N] [--json]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pullwright-bench-images: {error:#}");
            ExitCode::from(1)
        }
    }
}

fn run() -> Result<()> {
    let (mut service, mut rounds, mut json) = (None, ROUNDS, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = true,
            "--rounds" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                rounds = number.filter(|&rounds| rounds > 0).context("--rounds needs a number")?;
            }
            _ if service.is_none() && !argument.starts_with('-') => service = Some(PathBuf::from(argument)),
            _ => bail!("unknown argument {argument:?}; {USAGE}"),
        }
    }
    let measurements = images::run(&service.context(USAGE)?, rounds)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&measurements)?);
    } else {
        print!("{measurements}");
    }
    Ok(())
}
