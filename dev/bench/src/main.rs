//! `pullwright-bench PLUGIN [--rounds N] [--json]`: measures the plugin beside its peers. `cargo xtask bench plugin` builds
//! what it needs and runs it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use pullwright_bench::contender::Programs;
use pullwright_bench::plugin;
use pullwright_testkit::programs::find;
use rustix::process::geteuid;

/// How often ours and the bare exchange run on each row, unless told.
const ROUNDS: usize = 40;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pullwright-bench: {error:#}");
            ExitCode::from(1)
        }
    }
}

fn run() -> Result<()> {
    let (mut plugin, mut rounds, mut json) = (None, ROUNDS, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = true,
            "--rounds" => {
                let number = arguments.next().context("--rounds needs a number")?;
                rounds =
                    number.parse().ok().filter(|&rounds| rounds > 0).context("--rounds needs a number")?;
            }
            _ if plugin.is_none() && !argument.starts_with('-') => plugin = Some(PathBuf::from(argument)),
            _ => bail!("unknown argument {argument:?}; usage: pullwright-bench PLUGIN [--rounds N] [--json]"),
        }
    }
    let plugin = plugin.context("usage: pullwright-bench PLUGIN [--rounds N] [--json]")?;
    let beside = |name: &str| Ok::<_, std::io::Error>(std::env::current_exe()?.with_file_name(name));
    let programs = Programs {
        plugin,
        bare: beside("bare-exchange")?,
        measure: beside("pullwright-measure")?,
        go: go_plugin(),
    };
    let measurements = plugin::run(&programs, rounds)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&measurements)?);
    } else {
        print!("{measurements}");
    }
    Ok(())
}

/// The Go plugin, or a line that says why it is left out.
fn go_plugin() -> Option<PathBuf> {
    let found = find("go-crio-credential-provider");
    if !geteuid().is_root() {
        eprintln!("the Go plugin is left out: its paths are fixed, and to give it files there needs root");
        return None;
    }
    if found.is_err() {
        eprintln!("the Go plugin is left out: no go-crio-credential-provider in TEST_NODE_BIN or PATH");
    }
    found.ok()
}
