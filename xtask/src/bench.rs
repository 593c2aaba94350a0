//! `cargo xtask bench`: us and the peer side by side in one run, as ratios.

use crate::cargo::{cargo, succeed};
use crate::oracle;

pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    match arguments.split_first() {
        Some((&"engine", rest)) => {
            let program = oracle::build()?;
            let mut command = cargo(&[
                "run",
                "--profile",
                "dist",
                "--quiet",
                "--package",
                "pullwright-oracle",
                "--",
                "bench",
            ]);
            succeed(command.arg("--oracle").arg(program).args(rest)).map(|()| true)
        }
        _ => Err("usage: cargo xtask bench engine [--json]".to_owned()),
    }
}
