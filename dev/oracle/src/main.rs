//! `pullwright-oracle`: runs the comparison or the measurements, and says what came of it.

mod arguments;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use arguments::{Task, USAGE};
use pullwright_oracle::operations::{self, Entry};
use pullwright_oracle::process::Oracle;
use pullwright_oracle::run::{Failure, Outcome, Settings};
use pullwright_oracle::{bench, intended};
use serde_json::Value;

fn main() -> ExitCode {
    let arguments = match arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let oracle = arguments.oracle;
    let good = match arguments.task {
        Task::Compare { cases, seed, only, show } => {
            compare(&Settings { oracle, seed, show }, cases, only.as_deref())
        }
        Task::Replay { case } => replay(&oracle, &case),
        Task::Bench { json } => measure(&oracle, json),
    };
    match good {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn compare(settings: &Settings, cases: usize, only: Option<&str>) -> Result<bool, Box<dyn Error>> {
    let chosen: Vec<&Entry> =
        operations::ALL.iter().filter(|entry| only.is_none_or(|only| only == entry.name)).collect();
    let shares: usize = chosen.iter().map(|entry| entry.share).sum();
    println!("seed {}", settings.seed);
    let stale = stale(&settings.oracle, only)?;
    let mut outcomes = Vec::new();
    for entry in chosen {
        let outcome = (entry.run)(settings, (cases * entry.share).div_ceil(shares))?;
        for failure in &outcome.failures {
            print_failure(settings, failure);
        }
        outcomes.push(outcome);
    }
    print_outcomes(&outcomes);
    let differences: usize = outcomes.iter().map(|outcome| outcome.differences).sum();
    let compared: usize = outcomes.iter().map(|outcome| outcome.compared).sum();
    println!("{} passed, {} failed", compared - differences, differences + stale);
    Ok(differences + stale == 0)
}

/// How often an example is asked: where Go leaves the answer to chance, both sides agree now and then.
const CHANCES: usize = 64;

/// Asks both sides the example of each intended difference. One that is no difference any more, or another one, must
/// leave the list, or it would hide the next mistake.
fn stale(oracle: &Path, only: Option<&str>) -> Result<usize, Box<dyn Error>> {
    let mut oracle = Oracle::start(oracle)?;
    let mut stale = 0;
    for intended in intended::ALL.iter().filter(|intended| only.is_none_or(|only| only == intended.operation))
    {
        let case: Value = serde_json::from_str(intended.example)?;
        let Some(entry) = operations::ALL.iter().find(|entry| entry.name == intended.operation) else {
            continue;
        };
        let mut shown = false;
        for _ in 0..CHANCES {
            let judged = (entry.replay)(&mut oracle, &case)?;
            shown |=
                judged.iter().any(|(_, reason)| reason.is_some_and(|reason| reason.name == intended.name));
        }
        if !shown {
            stale += 1;
            println!("\nNOT A DIFFERENCE any more: {} ({})", intended.name, intended.operation);
        }
    }
    Ok(stale)
}

fn print_failure(settings: &Settings, failure: &Failure) {
    println!("\nDIFFERENCE (seed {}, case {}): {}", settings.seed, failure.index, failure.difference.about);
    println!("  replay  {}", failure.case);
    println!("  engine  {}", failure.difference.ours);
    println!("  Go      {}", failure.difference.theirs);
}

fn print_outcomes(outcomes: &[Outcome]) {
    println!(
        "\n{:<16} {:>10} {:>12} {:>10} {:>9}",
        "operation", "cases", "differences", "intended", "seconds"
    );
    for outcome in outcomes {
        println!(
            "{:<16} {:>10} {:>12} {:>10} {:>9.1}",
            outcome.operation,
            outcome.compared,
            outcome.differences,
            outcome.intended.values().sum::<usize>(),
            outcome.elapsed.as_secs_f64()
        );
    }
    for outcome in outcomes {
        for (name, count) in &outcome.intended {
            println!("intended in {}: {name}: {count}", outcome.operation);
        }
    }
}

fn replay(oracle: &Path, case: &str) -> Result<bool, Box<dyn Error>> {
    let value: Value = serde_json::from_str(case)?;
    let entry = operations::ALL.iter().find(|entry| value["operation"] == entry.name);
    let entry = entry.ok_or_else(|| format!("{} is no operation", value["operation"]))?;
    let judged = (entry.replay)(&mut Oracle::start(oracle)?, &value["case"])?;
    for (difference, intended) in &judged {
        println!("{}: {}", difference.about, intended.map_or("DIFFERENCE", |intended| intended.name));
        println!("  engine  {}\n  Go      {}", difference.ours, difference.theirs);
    }
    Ok(judged.iter().all(|(_, intended)| intended.is_some()))
}

fn measure(oracle: &Path, json: bool) -> Result<bool, Box<dyn Error>> {
    let measurements = bench::run(oracle)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&measurements)?);
    } else {
        print!("{measurements}");
    }
    Ok(true)
}
