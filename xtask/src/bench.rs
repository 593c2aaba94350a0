//! `cargo xtask bench`: measures our programs and their peers side by side in one run, as ratios, and the operator, which has no
//! peer; and the tier of tests that bounds the cost of the plugin and the command line.

use std::path::PathBuf;

use crate::cargo::{cargo, succeed, target, test};
use crate::oracle;
use crate::programs::{self, Tier};
use crate::tier::Outcome;

pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    match arguments.split_first() {
        Some((&"engine", rest)) => engine(rest),
        Some((&"plugin", rest)) => plugin(rest),
        Some((&"images", rest)) => images(rest),
        Some((&"mirrors", rest)) => mirrors(rest),
        Some((&"operator", rest)) => operator(rest),
        _ => Err(
            "usage: cargo xtask bench engine [--json] | plugin [--rounds N] [--json] | images [--rounds N] [--json] | mirrors [--json] | operator [--json]"
                .to_owned(),
        ),
    }
}

fn engine(arguments: &[&str]) -> Result<bool, String> {
    let program = oracle::ensure()?;
    let mut command =
        cargo(&["run", "--profile", "dist", "--quiet", "--package", "pullwright-oracle", "--", "bench"]);
    succeed(command.arg("--oracle").arg(program).args(arguments)).map(|()| true)
}

/// The number of instructions per source must not grow with the number of sources: the program checks this and fails if it
/// does.
fn mirrors(arguments: &[&str]) -> Result<bool, String> {
    programs::ensure(Tier::Tracer).map_err(|missing| format!("cannot count instructions here: {missing}"))?;
    let program = shipped("pullwright-oracle", "pullwright-bench-mirrors")?;
    succeed(std::process::Command::new(program).args(arguments)).map(|()| true)
}

fn plugin(arguments: &[&str]) -> Result<bool, String> {
    let programs = programs::ensure(Tier::ControlPlane)
        .map_err(|missing| format!("cannot run kube-apiserver here: {missing}"))?;
    let plugin = shipped("pullwright-provider", "crio-credential-provider")?;
    let bench = shipped("pullwright-bench", "pullwright-bench")?;
    let mut command = std::process::Command::new(bench);
    programs.pass_to(&mut command);
    succeed(command.arg(plugin).args(arguments)).map(|()| true)
}

fn images(arguments: &[&str]) -> Result<bool, String> {
    let programs =
        programs::ensure(Tier::Node).map_err(|missing| format!("cannot run containerd here: {missing}"))?;
    let service = shipped("pullwright-images", "pullwright-images")?;
    let bench = shipped("pullwright-bench", "pullwright-bench-images")?;
    let mut command = std::process::Command::new(bench);
    programs.pass_to(&mut command);
    succeed(command.arg(service).args(arguments)).map(|()| true)
}

/// The operator promises how often it writes: the program checks this and fails if it is not so.
fn operator(arguments: &[&str]) -> Result<bool, String> {
    let programs = programs::ensure(Tier::ControlPlane)
        .map_err(|missing| format!("cannot run kube-apiserver here: {missing}"))?;
    let operator = shipped("pullwright-operator", "pullwright-operator")?;
    let bench = shipped("pullwright-bench", "pullwright-bench-operator")?;
    let mut command = std::process::Command::new(bench);
    programs.pass_to(&mut command);
    succeed(command.arg(operator).args(arguments)).map(|()| true)
}

/// Checks the instructions, memory and size of the shipped plugin against their bounds, and that the instructions of the
/// command line grow no faster than its input.
pub(crate) fn cost() -> Outcome {
    if let Err(missing) = programs::ensure(Tier::Tracer) {
        return missing.into();
    }
    let built = shipped("pullwright-provider", "crio-credential-provider")
        .and_then(|plugin| Ok((plugin, shipped("pullwright", "pullwright")?)));
    let (plugin, command_line) = match built {
        Ok(built) => built,
        Err(why) => return Outcome::Failed { why },
    };
    let arguments = ["test", "-p", "pullwright-bench", "--features", "cost", "--test", "cost", "--"];
    let mut command = cargo(&arguments);
    command.env("PULLWRIGHT_PLUGIN", plugin).env("PULLWRIGHT_COMMAND_LINE", command_line);
    test(command.arg("--show-output"))
}

/// Builds a package's programs as they are shipped, one package at a time: built together with another, it would get
/// features that only the other needs.
fn shipped(package: &str, program: &str) -> Result<PathBuf, String> {
    succeed(&mut cargo(&["build", "--profile", "dist", "--package", package, "--bins"]))?;
    Ok(target().join("dist").join(program))
}
