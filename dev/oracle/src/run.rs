//! Asks both sides many questions of one kind, and makes what differs small enough to read.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::intended::{self, Intended};
use crate::operation::{Difference, Operation, Report};
use crate::process::{Batch, Oracle, ProcessError};
use crate::random::Random;

/// How often a smaller case is tried before the smallest so far is good enough.
const SHRINK_ATTEMPTS: usize = 3_000;

/// What all runs share.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The Go program.
    pub oracle: PathBuf,
    /// What decides the cases.
    pub seed: u64,
    /// How many differences of an operation are made small and shown; the others are counted.
    pub show: usize,
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The operation's name.
    pub operation: &'static str,
    /// Answers compared.
    pub compared: usize,
    /// How often each intended difference was met.
    pub intended: BTreeMap<&'static str, usize>,
    /// Answers that differ and should not.
    pub differences: usize,
    /// The first few of them.
    pub failures: Vec<Failure>,
    /// How long it took.
    pub elapsed: Duration,
}

/// A difference with what is needed to see it again.
#[derive(Debug)]
pub struct Failure {
    /// The case's number.
    pub index: u64,
    /// The smallest case that still shows it, for [`replay`].
    pub case: Value,
    /// The answers.
    pub difference: Difference,
}

/// Compares at least `questions` answers.
///
/// # Errors
/// If the Go program does not answer.
pub fn run<O: Operation>(settings: &Settings, questions: usize) -> Result<Outcome, ProcessError> {
    let started = Instant::now();
    let mut tally = Tally::<O>::new(settings.show);
    let mut asked = 0;
    // A refused configuration leaves its other questions without an answer: the rounds go on until enough were
    // answered, each with as many more as the yield so far lets expect.
    while tally.compared < questions {
        let left = questions - tally.compared;
        let left = (left * asked).checked_div(tally.compared).map_or(left, |expected| expected + O::BATCH);
        asked += left;
        let batches = Batches::<O> { seed: settings.seed, next: tally.next, left, operation: PhantomData };
        Oracle::start(&settings.oracle)?.ask_all(batches, |(first, cases), answer| {
            for ((index, case), theirs) in (first..).zip(cases).zip(answers::<O>(answer)) {
                tally.take(index, case, &theirs);
            }
        })?;
    }
    let mut failures = Vec::new();
    if !tally.suspects.is_empty() {
        let mut oracle = Oracle::start(&settings.oracle)?;
        for (index, case) in tally.suspects {
            failures.extend(shrink::<O>(&mut oracle, index, case)?);
        }
    }
    Ok(Outcome {
        operation: O::NAME,
        compared: tally.compared,
        intended: tally.intended,
        differences: tally.differences,
        failures,
        elapsed: started.elapsed(),
    })
}

/// Asks both sides the one case that a failure printed, or that an intended difference gives as its
/// example.
///
/// # Errors
/// If the Go program does not answer.
pub fn replay<O: Operation>(oracle: &mut Oracle, case: &Value) -> Result<Vec<Judged>, ProcessError> {
    let case: O::Case = serde_json::from_value(case.clone())
        .map_err(|source| ProcessError::Case { case: case.to_string(), source })?;
    judge::<O>(oracle, &case)
}

/// A difference, and the entry of the list that allows it.
pub type Judged = (Difference, Option<&'static Intended>);

struct Tally<O: Operation> {
    /// The number of the first case not yet asked.
    next: u64,
    show: usize,
    compared: usize,
    intended: BTreeMap<&'static str, usize>,
    differences: usize,
    suspects: Vec<(u64, O::Case)>,
}

impl<O: Operation> Tally<O> {
    fn new(show: usize) -> Self {
        Self { next: 0, show, compared: 0, intended: BTreeMap::new(), differences: 0, suspects: Vec::new() }
    }

    fn take(&mut self, index: u64, case: O::Case, theirs: &Value) {
        self.next = index + 1;
        let (compared, judged) = compare::<O>(&case, theirs);
        self.compared += compared;
        let before = self.differences;
        for (_, reason) in &judged {
            match reason {
                Some(intended) => *self.intended.entry(intended.name).or_default() += 1,
                None => self.differences += 1,
            }
        }
        if self.differences > before && self.suspects.len() < self.show {
            self.suspects.push((index, case));
        }
    }
}

/// Makes cases until enough answers are asked for.
struct Batches<O> {
    seed: u64,
    next: u64,
    left: usize,
    operation: PhantomData<fn() -> O>,
}

impl<O: Operation> Iterator for Batches<O> {
    type Item = Batch<(u64, Vec<O::Case>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let first = self.next;
        let mut cases = Vec::with_capacity(O::BATCH);
        while cases.len() < O::BATCH && self.left > 0 {
            let case = O::generate(&mut Random::for_case(self.seed, O::NAME, self.next));
            self.next += 1;
            self.left = self.left.saturating_sub(O::questions(&case));
            cases.push(case);
        }
        Some(Batch { line: request::<O>(&cases), kept: (first, cases) })
    }
}

fn request<O: Operation>(cases: &[O::Case]) -> String {
    match cases {
        [case] if O::BATCH == 1 => json!({ "op": O::OP, "request": O::request(case) }).to_string(),
        cases => {
            let requests: Vec<Value> = cases.iter().map(O::request).collect();
            json!({ "op": O::OP, "request": requests }).to_string()
        }
    }
}

/// One answer for each case. A library that panics answers none of its line: then each case has that answer, and
/// differs; so does a case that was forgotten.
fn answers<O: Operation>(answer: Value) -> Box<dyn Iterator<Item = Value>> {
    match answer {
        Value::Array(items) if O::BATCH > 1 => {
            Box::new(items.into_iter().chain(std::iter::repeat(Value::Null)))
        }
        other => Box::new(std::iter::repeat(other)),
    }
}

fn compare<O: Operation>(case: &O::Case, theirs: &Value) -> (usize, Vec<Judged>) {
    let mut report = Report::default();
    match (theirs.get("panic"), theirs.get("invalid")) {
        (None, None) => O::compare(case, theirs, &mut report),
        _ => report.answer(|| "the question itself".to_owned(), Value::Null, theirs),
    }
    if report.differences.is_empty() {
        return (report.compared, Vec::new());
    }
    let case = json!(case);
    let judged = report
        .differences
        .into_iter()
        .map(|difference| {
            let reason = intended::reason(O::NAME, &case, &difference);
            (difference, reason)
        })
        .collect();
    (report.compared, judged)
}

fn judge<O: Operation>(oracle: &mut Oracle, case: &O::Case) -> Result<Vec<Judged>, ProcessError> {
    let line = request::<O>(std::slice::from_ref(case));
    let answer = oracle.ask(&line)?;
    let Some(theirs) = answers::<O>(answer).next() else { return Ok(Vec::new()) };
    Ok(compare::<O>(case, &theirs).1)
}

fn unintended(judged: Vec<Judged>) -> Option<Difference> {
    judged.into_iter().find_map(|(difference, reason)| reason.is_none().then_some(difference))
}

/// Goes from smaller case to smaller case for as long as one of them still differs.
fn shrink<O: Operation>(
    oracle: &mut Oracle,
    index: u64,
    case: O::Case,
) -> Result<Option<Failure>, ProcessError> {
    // Asked again: an answer that depends on chance may be another one now.
    let Some(mut difference) = unintended(judge::<O>(oracle, &case)?) else { return Ok(None) };
    let mut smallest = case;
    let mut attempts = 0;
    'smaller: while attempts < SHRINK_ATTEMPTS {
        for candidate in O::shrink(&smallest) {
            attempts += 1;
            if let Some(found) = unintended(judge::<O>(oracle, &candidate)?) {
                (smallest, difference) = (candidate, found);
                continue 'smaller;
            }
        }
        break;
    }
    let case = json!({ "operation": O::NAME, "case": smallest });
    Ok(Some(Failure { index, case, difference }))
}
