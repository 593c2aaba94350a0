//! The command line.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use pullwright_oracle::operations;

/// What is said when it cannot be read.
pub(crate) const USAGE: &str = "\
usage: pullwright-oracle compare --oracle PROGRAM [--cases N] [--seed S] [--only OPERATION] [--show N]
       pullwright-oracle replay --oracle PROGRAM CASE
       pullwright-oracle bench --oracle PROGRAM [--json]

Asks the engine and the Go program (built in the folder `oracle`) the same questions: generated ones, the one that a
difference printed, or many to measure.
Exit code 0: all answers are the same but for the intended differences; 1: not; 2: it could not be run.";

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Compare { cases: usize, seed: u64, only: Option<String>, show: usize },
    Replay { case: String },
    Bench { json: bool },
}

/// What to do, and with which Go program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) oracle: PathBuf,
    pub(crate) task: Task,
}

/// Reads the words behind the program's name.
pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut task = match words.next().as_deref() {
        Some("compare") => Task::Compare { cases: 200_000, seed: fresh_seed(), only: None, show: 3 },
        Some("replay") => Task::Replay { case: String::new() },
        Some("bench") => Task::Bench { json: false },
        Some(other) => return Err(format!("unknown command {other}")),
        None => return Err("a command is missing".to_owned()),
    };
    let mut oracle = None;
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match (word.as_str(), &mut task) {
            ("--oracle", _) => oracle = Some(PathBuf::from(value()?)),
            ("--cases", Task::Compare { cases, .. }) => *cases = number(&value()?)?,
            ("--seed", Task::Compare { seed, .. }) => *seed = number(&value()?)?,
            ("--show", Task::Compare { show, .. }) => *show = number(&value()?)?,
            ("--only", Task::Compare { only, .. }) => *only = Some(known(value()?)?),
            ("--json", Task::Bench { json }) => *json = true,
            (_, Task::Replay { case }) if case.is_empty() => *case = word,
            _ => return Err(format!("unknown argument {word}")),
        }
    }
    let oracle = oracle.ok_or("--oracle is missing")?;
    Ok(Arguments { oracle, task })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.replace('_', "").parse().map_err(|_| format!("{text} is not a number"))
}

fn known(name: String) -> Result<String, String> {
    let names: Vec<&str> = operations::ALL.iter().map(|entry| entry.name).collect();
    if names.contains(&name.as_str()) {
        Ok(name)
    } else {
        Err(format!("{name} is none of {}", names.join(", ")))
    }
}

/// Another one each time, so that many runs see more than one.
fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() ^ u64::from(since.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn each_command_has_its_own_arguments() {
        let compare = parsed("compare --oracle /o --cases 1_000 --seed 7 --only match").unwrap();
        let only = Some("match".to_owned());
        assert_eq!(compare.task, Task::Compare { cases: 1000, seed: 7, only, show: 3 });
        assert_eq!(parsed("bench --json --oracle /o").unwrap().task, Task::Bench { json: true });
        assert_eq!(parsed("replay --oracle /o {}").unwrap().task, Task::Replay { case: "{}".to_owned() });
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for line in [
            "",
            "compare",
            "bench --oracle /o --seed 1",
            "compare --oracle /o --only x",
            "replay --oracle /o a b",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
