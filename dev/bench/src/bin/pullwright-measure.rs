//! `pullwright-measure PROGRAM [ARGUMENT…]`: runs a program and prints what it took, in JSON.
//!
//! A process of its own because the kernel counts the largest size among all children of a process, and counts in the size
//! of the one that started a program: both must be small, or the benchmark would measure itself.

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: pullwright-measure PROGRAM [ARGUMENT…]");
        return ExitCode::from(2);
    };
    let begun = Instant::now();
    let status = Command::new(&program).args(arguments).stdout(Stdio::null()).status();
    let wall = begun.elapsed();
    let failed = match status {
        Ok(status) if status.success() => None,
        Ok(status) => Some(status.to_string()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(why) = failed {
        eprintln!("{}: {why}", program.display());
        return ExitCode::from(1);
    }
    match getrusage(UsageWho::RUSAGE_CHILDREN) {
        Ok(usage) => {
            let cpu = duration(usage.user_time()) + duration(usage.system_time());
            let memory = usage.max_rss() * 1024;
            println!(r#"{{"wall_ns":{},"cpu_ns":{},"memory":{memory}}}"#, wall.as_nanos(), cpu.as_nanos());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("getrusage: {error}");
            ExitCode::from(1)
        }
    }
}

fn duration(time: TimeVal) -> Duration {
    let whole = Duration::from_secs(time.tv_sec().unsigned_abs());
    whole + Duration::from_micros(time.tv_usec().unsigned_abs())
}
