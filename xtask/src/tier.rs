//! Tiers of tests: the outcome of each, and a complete table at the end.

use std::time::{Duration, Instant};

use crate::beside::Beside;

/// The outcome of a tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All of its tests passed. `tests` is their number, or `None` for a check that does not count tests.
    Passed { tests: Option<u64> },
    /// It ran and something failed.
    Failed { why: String },
    /// It could not run.
    NotRun { why: String },
}

/// The row of the table for one tier.
pub(crate) struct Row {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
    /// Whether this machine may lack what the tier needs, even in CI.
    may_be_absent: bool,
}

/// The tiers that ran, in order.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

impl Report {
    /// Runs a tier and records the outcome.
    pub(crate) fn run(&mut self, name: &'static str, tier: impl FnOnce() -> Outcome) {
        self.push(name, false, tier);
    }

    /// Like [`Self::run`], for a tier whose programs are not available everywhere: it may be skipped without a failure.
    pub(crate) fn run_if_present(&mut self, name: &'static str, tier: impl FnOnce() -> Outcome) {
        self.push(name, true, tier);
    }

    /// Ends a tier that was started before.
    pub(crate) fn end(&mut self, name: &'static str, begun: Beside) {
        println!("\n── {name} ──");
        let (outcome, took) = begun.end();
        self.keep(Row { name, outcome, took, may_be_absent: false });
    }

    fn push(&mut self, name: &'static str, may_be_absent: bool, tier: impl FnOnce() -> Outcome) {
        println!("\n── {name} ──");
        let start = Instant::now();
        let outcome = tier();
        self.keep(Row { name, outcome, took: start.elapsed(), may_be_absent });
    }

    fn keep(&mut self, row: Row) {
        if let Outcome::Failed { why } | Outcome::NotRun { why } = &row.outcome {
            println!("{}: {why}", row.name);
        }
        self.rows.push(row);
    }

    /// Prints the table; returns true if the whole run succeeded.
    pub(crate) fn close(&self, ci: bool) -> bool {
        println!("\n{}", self.table());
        let failed = self.rows.iter().filter(|row| row.is_failure(ci)).count();
        let not_run = self.rows.iter().filter(|row| matches!(row.outcome, Outcome::NotRun { .. })).count();
        let tests: u64 = self
            .rows
            .iter()
            .map(|row| match row.outcome {
                Outcome::Passed { tests } => tests.unwrap_or(1),
                Outcome::Failed { .. } | Outcome::NotRun { .. } => 0,
            })
            .sum();
        if ci && self.rows.iter().any(|row| row.is_failure(true) && !row.is_failure(false)) {
            println!("with CI set, a tier that could not run is a failure");
        }
        println!("{tests} passed, {failed} failed, {not_run} skipped");
        failed == 0
    }

    fn table(&self) -> String {
        let width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let mut lines = vec![format!("{:width$}  {:>9}  {:>8}  result", "tier", "tests", "seconds")];
        for row in &self.rows {
            let (tests, result) = match &row.outcome {
                Outcome::Passed { tests: Some(tests) } => (tests.to_string(), "passed".to_owned()),
                Outcome::Passed { tests: None } => ("–".to_owned(), "passed".to_owned()),
                Outcome::Failed { why } => ("–".to_owned(), format!("FAILED: {}", first_line(why))),
                Outcome::NotRun { why } => ("–".to_owned(), format!("not run: {}", first_line(why))),
            };
            lines.push(format!("{:width$}  {tests:>9}  {:>8.1}  {result}", row.name, row.took.as_secs_f64()));
        }
        lines.join("\n")
    }
}

impl Row {
    fn is_failure(&self, ci: bool) -> bool {
        match self.outcome {
            Outcome::Passed { .. } => false,
            Outcome::Failed { .. } => true,
            Outcome::NotRun { .. } => ci && !self.may_be_absent,
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcome: Outcome, may_be_absent: bool) -> Report {
        let mut report = Report::default();
        report.push("tier", may_be_absent, || outcome);
        report
    }

    #[test]
    fn a_tier_that_could_not_run_fails_in_ci_only() {
        let not_run = || Outcome::NotRun { why: "no go".to_owned() };
        assert!(report(not_run(), false).close(false));
        assert!(!report(not_run(), false).close(true));
        assert!(report(not_run(), true).close(true), "CRI-O cannot be had everywhere");
        assert!(report(not_run(), false).table().contains("not run: no go"));
    }

    #[test]
    fn a_failed_tier_always_fails() {
        let failed = || Outcome::Failed { why: "broken\nlong story".to_owned() };
        assert!(!report(failed(), true).close(false));
        assert!(report(failed(), true).table().ends_with("FAILED: broken"));
    }
}
