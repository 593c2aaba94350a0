//! What merging mirror sets costs and how the cost grows: `cargo xtask bench mirrors`.
//!
//! Instructions are counted by valgrind, which no load disturbs: this program runs itself below it, once with the merge
//! and once without.

use std::process::{Command, ExitCode};

use pullwright_oracle::bench::mirrors::{Growth, Row, cluster, measure};
use serde::Serialize;

const USAGE: &str = "usage: pullwright-bench-mirrors [--json]";

/// How many sources, from a small cluster to more than anybody has.
const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let json = match words.as_slice() {
        [] => false,
        ["--json"] => true,
        // What is run below valgrind.
        ["count", sources, merges] => return work(sources, merges),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut rows = Vec::new();
    for sources in SIZES {
        match instructions(sources) {
            Ok(instructions) => rows.push(measure(sources, instructions)),
            Err(why) => {
                eprintln!("counting instructions for {sources} sources: {why}");
                return ExitCode::from(2);
            }
        }
    }
    let growth = Growth::between(&rows[1], &rows[3]);
    if json {
        #[derive(Serialize)]
        struct Measured<'a> {
            rows: &'a [Row],
            growth: &'a Growth,
        }
        match serde_json::to_string_pretty(&Measured { rows: &rows, growth: &growth }) {
            Ok(text) => println!("{text}"),
            Err(error) => eprintln!("{error}"),
        }
    } else {
        println!("{}", Row::header());
        for row in &rows {
            println!("{row}");
        }
        println!("{growth}");
    }
    if growth.is_held() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Makes a cluster, and merges it so many times.
fn work(sources: &str, merges: &str) -> ExitCode {
    let (Ok(sources), Ok(merges)) = (sources.parse(), merges.parse::<usize>()) else {
        return ExitCode::from(2);
    };
    let cluster = cluster(sources);
    for _ in 0..merges {
        std::hint::black_box(cluster.render());
    }
    ExitCode::SUCCESS
}

/// The instructions of one merge, with its text.
fn instructions(sources: usize) -> Result<u64, String> {
    let with = counted(sources, 1)?;
    let without = counted(sources, 0)?;
    with.checked_sub(without).ok_or_else(|| format!("{with} with the merge, {without} without"))
}

fn counted(sources: usize, merges: usize) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|error| format!("finding this program: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["count", &sources.to_string(), &merges.to_string()])
        .output()
        .map_err(|error| format!("starting valgrind: {error}; install it"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let total = text.lines().find_map(|line| line.split_once("Collected : "));
    total
        .and_then(|(_, count)| count.trim().parse().ok())
        .ok_or_else(|| format!("valgrind {} says no count: {text}", output.status))
}
