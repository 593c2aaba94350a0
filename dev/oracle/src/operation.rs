//! One kind of question to both sides, and the comparison of the answers.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::random::Random;

/// A kind of question.
pub trait Operation {
    /// Its name, for `--only` and the closing table.
    const NAME: &'static str;
    /// The Go program's name for it.
    const OP: &'static str;
    /// How many cases go into one line; 1 if the Go program takes no list.
    const BATCH: usize;

    /// One question.
    type Case: Serialize + DeserializeOwned + Send;

    /// Makes a case.
    fn generate(random: &mut Random) -> Self::Case;

    /// The question as the Go program is asked it; the case itself unless the engine has a part in the question.
    fn request(case: &Self::Case) -> Value {
        json!(case)
    }

    /// How many answers a case asks for.
    fn questions(case: &Self::Case) -> usize;

    /// Answers a case with the engine and holds the answer against the Go program's.
    fn compare(case: &Self::Case, theirs: &Value, report: &mut Report);

    /// Smaller cases that may show the same difference, the smallest first.
    fn shrink(case: &Self::Case) -> Vec<Self::Case>;
}

/// What came of comparing one case.
#[derive(Debug, Default)]
pub struct Report {
    /// How many answers were compared.
    pub compared: usize,
    /// Those that were not the same.
    pub differences: Vec<Difference>,
}

/// Two answers to one question that are not the same.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Which answer of the case.
    pub about: String,
    /// The engine's.
    pub ours: Value,
    /// The Go library's.
    pub theirs: Value,
}

impl Report {
    /// Compares one answer.
    pub fn answer(&mut self, about: impl FnOnce() -> String, ours: Value, theirs: &Value) {
        self.compared += 1;
        if ours != *theirs {
            self.differences.push(Difference { about: about(), ours, theirs: theirs.clone() });
        }
    }
}

/// A text about broken JSON as far as both sides say the same: Go goes on to name the character and what it expected
/// instead, the engine says where it stands, because the character may be part of a password.
#[must_use]
pub fn up_to_the_character(error: &str) -> String {
    let word = "invalid character";
    error.split_once(word).map_or_else(|| error.to_owned(), |(before, _)| format!("{before}{word}"))
}

/// Every text that is `text` without one of its parts: its second half, its first half, quarters, … down to
/// single characters or lines.
#[must_use]
pub fn without_a_part(text: &str, separator: char) -> Vec<String> {
    let parts: Vec<&str> = text.split_inclusive(separator).collect();
    let mut smaller = Vec::new();
    let mut length = parts.len();
    while length > 1 {
        length = length.div_ceil(2);
        for start in (0..parts.len()).step_by(length) {
            let end = (start + length).min(parts.len());
            smaller.push(parts[..start].iter().chain(&parts[end..]).copied().collect());
        }
        if length == 1 {
            break;
        }
    }
    smaller
}

/// [`without_a_part`] for single characters.
#[must_use]
pub fn without_a_character(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    (0..chars.len().min(400))
        .map(|skip| chars.iter().enumerate().filter(|(at, _)| *at != skip).map(|(_, c)| c).collect())
        .collect()
}

/// The list without each of its items in turn, or without any.
#[must_use]
pub fn fewer<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    if items.is_empty() {
        return Vec::new();
    }
    let without =
        |skip| items.iter().enumerate().filter(|(at, _)| *at != skip).map(|(_, item)| item.clone()).collect();
    std::iter::once(Vec::new()).chain((0..items.len()).map(without)).collect()
}
