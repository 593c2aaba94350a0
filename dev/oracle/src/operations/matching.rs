//! `matchImages`: which images a pattern stands for.

use pullwright_engine::kubelet::ImagePattern;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::operation::{Operation, Report, without_a_character};
use crate::random::Random;
use crate::vocabulary::{self, mutate};

/// The operation.
pub(super) struct Matching;

/// A pattern and an image.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Case {
    pattern: String,
    image: String,
}

impl Operation for Matching {
    const NAME: &'static str = "match";
    const OP: &'static str = "match";
    const BATCH: usize = 64;

    type Case = Case;

    fn generate(random: &mut Random) -> Case {
        let image = image(random);
        Case { pattern: pattern(random, &image), image }
    }

    fn questions(_: &Case) -> usize {
        2
    }

    fn compare(case: &Case, theirs: &Value, report: &mut Report) {
        let pattern = ImagePattern::parse(case.pattern.as_str());
        let refused = pattern.as_ref().err().map(ToString::to_string);
        report.answer(|| "pattern".to_owned(), json!(refused), &theirs["pattern_error"]);
        // The kubelet takes an error in either for "does not match".
        let matches = pattern.is_ok_and(|pattern| pattern.matches(&case.image));
        report.answer(|| "matches".to_owned(), json!(matches), &theirs["matches"]);
    }

    fn shrink(case: &Case) -> Vec<Case> {
        let patterns =
            without_a_character(&case.pattern).into_iter().map(|pattern| Case { pattern, ..case.clone() });
        let images = without_a_character(&case.image).into_iter().map(|image| Case { image, ..case.clone() });
        patterns.chain(images).collect()
    }
}

/// A name as the kubelet hands it over, or something else.
pub(super) fn image(random: &mut Random) -> String {
    let name = format!("{}/{}", vocabulary::host(random), vocabulary::path(random, 3));
    if random.odd(5) { mutate(random, &name) } else { name }
}

/// A pattern that often has to do with the image.
pub(super) fn pattern(random: &mut Random, image: &str) -> String {
    let pattern = match random.below(6) {
        0 => vocabulary::place(random),
        1 => random
            .pick(&[
                "*.io",
                "*.*",
                "*",
                "*.example.com",
                "*.example.com:5000",
                "a*.io/team",
                "?.io",
                "[a-z].io",
                "\\a.io",
                "10.0.0.*",
            ])
            .to_owned(),
        _ => globbed(random, image),
    };
    if random.odd(2) { mutate(random, &pattern) } else { pattern }
}

/// The image with some labels of its host made globs and its path cut somewhere.
fn globbed(random: &mut Random, image: &str) -> String {
    let (host, path) = image.split_once('/').unwrap_or((image, ""));
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let labels: Vec<String> = name
        .split('.')
        .map(|label| match random.below(8) {
            0 => "*".to_owned(),
            1 => format!("{}*", label.chars().next().map_or(String::new(), String::from)),
            2 => format!("*{}", label.chars().last().map_or(String::new(), String::from)),
            3 if random.one_in(4) => label.replace(|c: char| c.is_ascii_digit(), "?"),
            _ => label.to_owned(),
        })
        .collect();
    let mut pattern = labels.join(".");
    if let Some(port) = port.filter(|_| !random.one_in(6)) {
        pattern = format!("{pattern}:{port}");
    }
    if random.one_in(2) {
        let kept: String = path.chars().take(random.below(path.chars().count() + 1)).collect();
        pattern = format!("{pattern}/{kept}");
    }
    pattern
}
