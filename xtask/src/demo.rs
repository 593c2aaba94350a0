//! `cargo xtask demo`: the product's main job on this machine, with no cluster at hand.

use crate::cargo::{cargo, succeed, target};
use crate::tier::Outcome;

pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    if !arguments.is_empty() {
        return Err("usage: cargo xtask demo".to_owned());
    }
    show().map(|()| true)
}

/// The demo as a test: it fails if a step does not go as described.
pub(crate) fn tier() -> Outcome {
    match show() {
        Ok(()) => Outcome::Passed { tests: None },
        Err(why) => Outcome::Failed { why },
    }
}

fn show() -> Result<(), String> {
    succeed(&mut cargo(&["build", "--quiet", "--package", "pullwright-provider"]))?;
    let plugin = target().join("debug/crio-credential-provider");
    let mut command = cargo(&["run", "--quiet", "--package", "pullwright-demo", "--"]);
    succeed(command.arg(plugin))
}
