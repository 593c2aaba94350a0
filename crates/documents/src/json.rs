//! Parses JSON by Go's rules, as the consumers of these files do.

use std::ops::Range;

use pullwright_golang::json::{JsonKind, RawValue, SyntaxError};
use serde_json::Value;

use super::{DocumentNode, Member, NodeContent, Unreadable};

/// Deeper than any of our formats. Values below have no positions of their own. Go allows 10 000, for which the stack
/// is too small.
const MAX_DEPTH: usize = 64;

/// Parses the only document of a JSON text.
///
/// # Errors
/// If the text is not JSON.
pub fn document(text: &str) -> Result<DocumentNode, Unreadable> {
    match RawValue::parse(text.as_bytes()) {
        Ok(root) => Ok(Reader { text }.node(root, MAX_DEPTH)),
        Err(error) => Err(Unreadable { span: place(text, error), message: error.to_string() }),
    }
}

struct Reader<'a> {
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn node(&self, raw: RawValue<'a>, depth: usize) -> DocumentNode {
        let span = self.span(raw);
        let content = match raw.kind() {
            JsonKind::Object | JsonKind::Array if depth == 0 => NodeContent::Leaf(Value::Null),
            JsonKind::Object => NodeContent::Map(self.members(raw, &span, depth - 1)),
            JsonKind::Array => {
                NodeContent::List(raw.items().map(|item| self.node(item, depth - 1)).collect())
            }
            JsonKind::String => {
                NodeContent::Leaf(raw.text().map_or(Value::Null, |text| Value::String(text.into_owned())))
            }
            // Nothing here needs a number that is too large for `serde_json`.
            JsonKind::Null | JsonKind::Bool | JsonKind::Number => {
                NodeContent::Leaf(serde_json::from_slice(raw.bytes()).unwrap_or_default())
            }
        };
        DocumentNode { span, content }
    }

    /// A name is between the previous value and its own value, surrounded only by white space and punctuation.
    fn members(&self, raw: RawValue<'a>, map: &Range<usize>, depth: usize) -> Vec<Member> {
        let mut from = map.start + 1;
        let mut members = Vec::new();
        for (name, value) in raw.members() {
            let node = self.node(value, depth);
            let between = self.text.get(from..node.span.start).unwrap_or_default();
            let start = from + between.find('"').unwrap_or_default();
            let end = from + between.rfind('"').map_or(between.len(), |quote| quote + 1);
            from = node.span.end;
            members.push(Member { name: name.into_owned(), name_span: start..end, node });
        }
        members
    }

    /// A value is a slice of the text, so its position is the distance between the two.
    fn span(&self, raw: RawValue<'a>) -> Range<usize> {
        let start = raw.bytes().as_ptr().addr() - self.text.as_ptr().addr();
        start..start + raw.bytes().len()
    }
}

fn place(text: &str, error: SyntaxError) -> Range<usize> {
    let start = match error {
        SyntaxError::Character { line, column } => {
            let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
            (before + column - 1).min(text.len())
        }
        SyntaxError::Truncated | SyntaxError::Depth => text.trim_end().len(),
    };
    start..start
}
