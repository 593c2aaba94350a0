//! The engine's speed beside the Go library's, in one run on one machine, and how its cost grows.

mod credentials;
pub mod mirrors;
mod registries;

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::process::{Oracle, ProcessError};

/// For how long a thing is done over and over; long enough to drown the clock's own cost.
const MEASURED: Duration = Duration::from_millis(300);

/// All measurements.
#[derive(Debug, Serialize)]
pub struct Measurements {
    /// Loading and looking up in `registries.conf`.
    pub registries: Vec<registries::Row>,
    /// Looking up in an auth file.
    pub auth_file: Vec<credentials::LookupRow>,
    /// Choosing credentials and writing them.
    pub selection: Vec<credentials::SelectionRow>,
}

/// Nanoseconds for one and the same work.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Pair {
    /// The engine's.
    pub engine_ns: f64,
    /// The Go library's.
    pub go_ns: f64,
    /// How many times as fast the engine is.
    pub ratio: f64,
}

impl Pair {
    fn new(engine_ns: f64, go_ns: f64) -> Self {
        Self { engine_ns, go_ns, ratio: go_ns / engine_ns }
    }
}

/// Measures everything.
///
/// # Errors
/// If the Go program does not answer, or does other work than the engine.
pub fn run(oracle: &Path) -> Result<Measurements, BenchError> {
    let mut oracle = Oracle::start(oracle)?;
    let mut registries = Vec::new();
    for entries in [10, 1_000, 100_000] {
        registries.push(registries::measure(&mut oracle, entries)?);
    }
    let mut auth_file = Vec::new();
    for entries in [10, 1_000] {
        auth_file.push(credentials::measure_lookup(&mut oracle, entries)?);
    }
    let selection = [100, 1_000, 10_000].map(|size| credentials::measure_selection(size, size)).into();
    Ok(Measurements { registries, auth_file, selection })
}

/// Why there are no measurements.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The Go program does not answer.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It did not understand, or what it did was something else.
    #[error("{what}: the engine found {engine}, the Go library answered {go}")]
    OtherWork {
        /// What was measured.
        what: String,
        /// How much the engine found.
        engine: usize,
        /// What the Go program said.
        go: serde_json::Value,
    },
}

/// Nanoseconds for one call, from as many as fit into the time.
fn time<T>(mut work: impl FnMut() -> T) -> f64 {
    let started = Instant::now();
    let mut calls = 0.0;
    loop {
        std::hint::black_box(work());
        calls += 1.0;
        let elapsed = started.elapsed();
        if elapsed >= MEASURED {
            return elapsed.as_secs_f64() * 1e9 / calls;
        }
    }
}

impl fmt::Display for Measurements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<34} {:>10} {:>10} {:>10}", "", "engine", "Go", "ratio")?;
        for row in &self.registries {
            line(f, &format!("load {} registries", row.entries), row.load)?;
        }
        for row in &self.registries {
            line(f, &format!("look up among {} registries", row.entries), row.lookup)?;
        }
        for row in &self.auth_file {
            line(f, &format!("read {} credentials, look up one", row.entries), row.lookup)?;
        }
        for row in &self.auth_file {
            writeln!(
                f,
                "{:<34} {:>10}",
                format!("look up among {} credentials", row.entries),
                Span(row.in_memory_ns)
            )?;
        }
        writeln!(
            f,
            "\n{:<34} {:>10} {:>10} {:>10} {:>10}",
            "Secrets × sources", "read", "choose", "write", "choose/n"
        )?;
        for row in &self.selection {
            writeln!(
                f,
                "{:<34} {:>10} {:>10} {:>10} {:>10}",
                format!("{} × {}", row.secrets, row.sources),
                Span(row.read_ns),
                Span(row.select_ns),
                Span(row.write_ns),
                Span(row.select_ns_per_item),
            )?;
        }
        writeln!(
            f,
            "choose/n: the choosing shared out over Secrets and sources, the same at every size if it is linear in their sum"
        )
    }
}

fn line(f: &mut fmt::Formatter<'_>, what: &str, pair: Pair) -> fmt::Result {
    let ratio = format!("{:.1}×", pair.ratio);
    writeln!(f, "{what:<34} {:>10} {:>10} {ratio:>10}", Span(pair.engine_ns), Span(pair.go_ns))
}

/// Nanoseconds as a person reads them.
struct Span(f64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            ns if ns < 1e3 => format!("{ns:.0} ns"),
            ns if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
            ns if ns < 1e9 => format!("{:.1} ms", ns / 1e6),
            ns => format!("{:.2} s", ns / 1e9),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_shown_in_the_unit_that_fits() {
        let shown: Vec<String> = [12.4, 1_234.0, 5_600_000.0, 2.5e9].map(|ns| Span(ns).to_string()).into();
        assert_eq!(shown, ["12 ns", "1.2 µs", "5.6 ms", "2.50 s"]);
    }
}
