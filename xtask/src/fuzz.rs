//! `cargo xtask fuzz`: fuzzes the parsers with libFuzzer, built with the stable toolchain.
//!
//! Coverage comes from LLVM's own pass, which needs no nightly compiler and no other program.

use std::process::Command;

use crate::cargo::{cache, has, succeed, target as cargo_target, workspace};
use crate::tier::Outcome;

/// The fuzz targets: one per parser, named as in `fuzz/fuzz_targets`.
const TARGETS: &[&str] = &[
    "reference",
    "registries_conf",
    "auth_file",
    "secret",
    "image_pattern",
    "provider_config",
    "exec_request",
    "exec_response",
    "token",
    "documents",
    "hosts_toml",
    "mirror_sets",
    "protobuf",
];

/// The flags that let libFuzzer see which branches an input takes.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks \
     --cfg fuzzing";

pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    let (seconds, targets) = match arguments {
        ["--seconds", seconds, targets @ ..] => {
            (seconds.parse().map_err(|_| format!("{seconds:?} is not a number of seconds"))?, targets)
        }
        targets => (60, targets),
    };
    if let Some(unknown) = targets.iter().find(|target| !TARGETS.contains(target)) {
        return Err(format!("no fuzz target {unknown:?}; there are: {}", TARGETS.join(", ")));
    }
    let targets = if targets.is_empty() { TARGETS } else { targets };
    build().and_then(|()| fuzz(targets, seconds)).map(|()| true)
}

/// A short run of every target as a tier of the tests.
pub(crate) fn tier(seconds: u64) -> Outcome {
    if !has("c++") && !has("g++") && !has("clang++") {
        return Outcome::NotRun {
            why: "needs a C++ compiler for libFuzzer; run as root: apt-get install g++".to_owned(),
        };
    }
    match build().and_then(|()| fuzz(TARGETS, seconds)) {
        Ok(()) => Outcome::Passed { tests: Some(TARGETS.len() as u64) },
        Err(why) => Outcome::Failed { why },
    }
}

fn build() -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--quiet", "--target", HOST]).current_dir(workspace().join("fuzz"));
    succeed(command.env("RUSTFLAGS", COVERAGE).env("CARGO_TARGET_DIR", target_dir()))
}

/// Naming the host as the target keeps the coverage flags away from build scripts.
const HOST: &str = env!("XTASK_HOST");

fn target_dir() -> std::path::PathBuf {
    cargo_target().join("fuzz")
}

fn fuzz(targets: &[&str], seconds: u64) -> Result<(), String> {
    for target in targets {
        let corpus = cache().join("corpus").join(target);
        let artifacts = cargo_target().join("fuzz-artifacts").join(target);
        for folder in [&corpus, &artifacts] {
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("making {}: {error}", folder.display()))?;
        }
        let mut command = Command::new(target_dir().join(HOST).join("release").join(target));
        command.arg(&corpus).arg(workspace().join("fuzz").join("seeds").join(target));
        command.arg(format!("-max_total_time={seconds}")).arg("-timeout=10").arg("-verbosity=0");
        command.arg("-print_final_stats=1").arg(format!("-artifact_prefix={}/", artifacts.display()));
        println!("{target}: {} texts in {seconds} s", executed(&mut command)?);
    }
    Ok(())
}

/// Runs a target; libFuzzer prints a lot, of which only a failure and one number matter.
fn executed(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("starting {command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{command:?}: {}\n{said}", output.status));
    }
    let executed = said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    executed
        .map(|number| number.trim().to_owned())
        .ok_or_else(|| format!("{command:?} did not say how much it ran"))
}
