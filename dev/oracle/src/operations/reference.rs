//! Image references: what the kubelet and what CRI-O read in them.

use pullwright_engine::reference::{Dialect, Reference, ReferenceError};
use serde_json::{Value, json};

use crate::operation::{Operation, Report, without_a_character};
use crate::random::Random;
use crate::vocabulary;

/// The operation.
pub(super) struct References;

impl Operation for References {
    const NAME: &'static str = "reference";
    const OP: &'static str = "reference";
    const BATCH: usize = 64;

    type Case = String;

    fn generate(random: &mut Random) -> String {
        let image = vocabulary::image(random);
        if random.odd(2) { vocabulary::mutate(random, &image) } else { image }
    }

    fn questions(_: &String) -> usize {
        4
    }

    fn compare(case: &String, theirs: &Value, report: &mut Report) {
        let kubelet = Reference::parse(Dialect::Kubelet, case);
        report.answer(|| "kubelet".to_owned(), named(&kubelet), &theirs["distribution"]);
        let runtime = Reference::parse(Dialect::Runtime, case);
        report.answer(|| "runtime".to_owned(), named(&runtime), &theirs["containers"]);
        let canonical = Reference::parse_canonical(case).err().map(|error| error.to_string());
        report.answer(|| "canonical".to_owned(), json!(canonical), &theirs["canonical_error"]);
        report.answer(|| "kubelet's name".to_owned(), name(case, kubelet), &theirs["kubelet"]);
    }

    fn shrink(case: &String) -> Vec<String> {
        without_a_character(case)
    }
}

fn named(parsed: &Result<Reference, ReferenceError>) -> Value {
    match parsed {
        Err(error) => json!({ "error": error.to_string() }),
        Ok(reference) => {
            let path = reference.name().strip_prefix(reference.domain()).unwrap_or_default();
            let path = if reference.domain().is_empty() { path } else { path.trim_start_matches('/') };
            let mut answer = json!({ "path": path, "string": reference.to_string() });
            for (field, value) in [
                ("domain", Some(reference.domain()).filter(|domain| !domain.is_empty())),
                ("tag", reference.tag()),
                ("digest", reference.digest()),
            ] {
                if let Some(value) = value {
                    answer[field] = value.into();
                }
            }
            answer
        }
    }
}

/// The kubelet adds `latest` and wraps the error.
fn name(image: &str, parsed: Result<Reference, ReferenceError>) -> Value {
    match parsed {
        Err(error) => {
            let quoted = pullwright_golang::quote::quote(image);
            json!({ "error": format!("couldn't parse image name {quoted}: {error}") })
        }
        Ok(reference) => {
            let mut answer = json!({ "name": reference.name() });
            let reference = reference.or_latest();
            for (field, value) in [("tag", reference.tag()), ("digest", reference.digest())] {
                if let Some(value) = value {
                    answer[field] = value.into();
                }
            }
            answer
        }
    }
}
