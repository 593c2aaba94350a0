//! YAML: what a manifest or a configuration says before anything is known about its kind.

use pullwright_documents::{DocumentNode, yaml_documents};
use serde_json::{Value, json};

use crate::operation::{Operation, Report, without_a_part};
use crate::random::Random;
use crate::yaml::document;

/// The operation.
pub(super) struct Yaml;

impl Operation for Yaml {
    const NAME: &'static str = "yaml";
    const OP: &'static str = "yaml";
    const BATCH: usize = 64;

    type Case = String;

    fn generate(random: &mut Random) -> String {
        document(random)
    }

    fn questions(_: &String) -> usize {
        1
    }

    fn compare(case: &String, theirs: &Value, report: &mut Report) {
        let ours = match yaml_documents(case) {
            Err(_) => json!({ "refused": true }),
            Ok(documents) => json!({ "json": documents.first().map(DocumentNode::value) }),
        };
        let theirs = if theirs["error"].is_string() { json!({ "refused": true }) } else { by_value(theirs) };
        report.answer(|| "document".to_owned(), by_value(&ours), &theirs);
    }

    fn shrink(case: &String) -> Vec<String> {
        // By lines only: without a character it would soon be no YAML, and show something else.
        without_a_part(case, '\n')
    }
}

/// The value with every number in one notation: Go writes 1.0 as 1.
fn by_value(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            json!(format!("number {}", number.as_f64().unwrap_or_default()))
        }
        Value::Number(number) => json!(format!("number {number}")),
        Value::Array(items) => items.iter().map(by_value).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), by_value(value))).collect()
        }
        other => other.clone(),
    }
}
