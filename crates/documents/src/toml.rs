//! Parses TOML with the two parsers that the engine uses: one that follows the specification, and one that follows Go.

use std::ops::Range;

use pullwright_golang::toml::{Document, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{DocumentNode, Member, NodeContent, Unreadable};

/// Parses the only document of a TOML text.
///
/// # Errors
/// If the text is not TOML.
pub fn document(text: &str) -> Result<DocumentNode, Unreadable> {
    let table = DeTable::parse(text).map_err(|error| Unreadable {
        span: error.span().unwrap_or_default(),
        message: error.message().to_owned(),
    })?;
    Ok(DocumentNode { span: table.span(), content: members(table.get_ref()) })
}

fn members(table: &DeTable<'_>) -> NodeContent {
    let member = |(name, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| Member {
        name: AsRef::<str>::as_ref(name.get_ref()).to_owned(),
        name_span: name.span(),
        node: node(value.span(), value.get_ref()),
    };
    NodeContent::Map(table.iter().map(member).collect())
}

fn node(span: Range<usize>, value: &DeValue<'_>) -> DocumentNode {
    let content = match value {
        DeValue::Array(items) => {
            NodeContent::List(items.iter().map(|item| node(item.span(), item.get_ref())).collect())
        }
        DeValue::Table(table) => members(table),
        // Only the positions are needed; the engine reads the values.
        _ => NodeContent::Leaf(serde_json::Value::Null),
    };
    DocumentNode { span, content }
}

/// Parses TOML as Go programs do, which accepts more than the specification. Provides the positions for what the engine
/// reads from a `registries.conf`.
///
/// # Errors
/// If Go refuses the text.
pub fn go_document(text: &str) -> Result<DocumentNode, Unreadable> {
    let document = Document::parse(text).map_err(|refusal| Unreadable {
        span: refusal.span.unwrap_or_default(),
        message: refusal.fault.to_string(),
    })?;
    Ok(go_node(document.root()))
}

fn go_node(value: Value<'_, '_>) -> DocumentNode {
    let member = |(name, name_span, value): (&str, _, _)| Member {
        name: name.to_owned(),
        name_span,
        node: go_node(value),
    };
    let content = if let Some(items) = value.items() {
        NodeContent::List(items.map(go_node).collect())
    } else if let Some(table) = value.table() {
        NodeContent::Map(table.entries().map(member).collect())
    } else {
        NodeContent::Leaf(serde_json::Value::Null)
    };
    DocumentNode { span: value.span(), content }
}
