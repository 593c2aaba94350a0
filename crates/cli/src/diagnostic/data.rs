//! A message as data, for JSON and YAML output.

use pullwright_findings::{Rule, Severity};
use serde::Serialize;

use super::Message;

/// A message without its excerpt.
#[derive(Serialize)]
pub(crate) struct MessageData<'a> {
    severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
}

impl<'a> From<&'a Message> for MessageData<'a> {
    fn from(message: &'a Message) -> Self {
        let position = message.place.as_ref().map(|place| place.position);
        Self {
            severity: message.severity,
            rule: message.rule.map(Rule::name),
            message: &message.text,
            help: message.help.as_deref(),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
        }
    }
}
