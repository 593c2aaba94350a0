//! Parses YAML with values typed as in Kubernetes (YAML 1.1, converted to JSON).

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::Value;

use super::{DocumentNode, Member, NodeContent, Unreadable};

/// Deeper than any manifest.
const MAX_DEPTH: usize = 128;
/// The maximum number of nodes that aliases may expand to. Without a limit, nine lines could expand to billions.
const MAX_ALIASED: usize = 100_000;

/// Parses the documents of a YAML text, including empty ones.
///
/// # Errors
/// If the text is not YAML.
pub fn documents(text: &str) -> Result<Vec<DocumentNode>, Unreadable> {
    documents_within(text, &mut 0)
}

/// The same, if the aliases of other texts have already expanded to `aliased` nodes.
pub(super) fn documents_within(text: &str, aliased: &mut usize) -> Result<Vec<DocumentNode>, Unreadable> {
    // Comments would be events if any crate of the program asks the parser for them, as kube's client does.
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH, emit_comments: false
    };
    let events = Parser::new_from_str_with_options(text, options);
    let mut reader = Reader { events, end: text.len(), anchors: HashMap::new(), aliased };
    let mut documents = Vec::new();
    while let Some((event, span)) = reader.next()? {
        match event {
            Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd | Event::StreamEnd => {}
            event => documents.push(reader.node(&event, &span)?),
        }
    }
    Ok(documents)
}

struct Reader<'a, 'b> {
    events: Parser<'a, StrInput<'a>>,
    end: usize,
    anchors: HashMap<usize, DocumentNode>,
    aliased: &'b mut usize,
}

impl<'a> Reader<'a, '_> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Range<usize>)>, Unreadable> {
        match self.events.next() {
            None => Ok(None),
            Some(Ok((event, span))) => Ok(Some((event, self.range(&span)))),
            Some(Err(error)) => Err(self.unreadable(&error)),
        }
    }

    /// Returns the next event where the grammar guarantees one.
    fn inner(&mut self) -> Result<(Event<'a>, Range<usize>), Unreadable> {
        let end = self.end;
        self.next()?.ok_or_else(|| unreadable(end..end, "the document ends too early"))
    }

    fn node(&mut self, event: &Event<'a>, span: &Range<usize>) -> Result<DocumentNode, Unreadable> {
        let (anchor, node) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = *style == ScalarStyle::Plain && tag.is_none();
                let value = if plain { plain_value(text) } else { Value::String(text.to_string()) };
                (*anchor, DocumentNode { span: span.clone(), content: NodeContent::Leaf(value) })
            }
            Event::SequenceStart(_, anchor, _) => (*anchor, self.list(span)?),
            Event::MappingStart(_, anchor, _) => (*anchor, self.map(span)?),
            Event::Alias(anchor) => return self.alias(*anchor, span),
            _ => return Err(unreadable(span.clone(), "expected a value")),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, start: &Range<usize>) -> Result<DocumentNode, Unreadable> {
        let mut items = Vec::new();
        loop {
            match self.inner()? {
                (Event::SequenceEnd, end) => {
                    let last = items.last().map(|item: &DocumentNode| item.span.end);
                    return Ok(DocumentNode {
                        span: whole(start, last, &end),
                        content: NodeContent::List(items),
                    });
                }
                (event, span) => items.push(self.node(&event, &span)?),
            }
        }
    }

    fn map(&mut self, start: &Range<usize>) -> Result<DocumentNode, Unreadable> {
        let mut members: Vec<Member> = Vec::new();
        loop {
            match self.inner()? {
                (Event::MappingEnd, end) => {
                    let last = members.last().map(|member| member.node.span.end);
                    return Ok(DocumentNode {
                        span: whole(start, last, &end),
                        content: NodeContent::Map(members),
                    });
                }
                (Event::Scalar(name, ..), name_span) => {
                    let (event, span) = self.inner()?;
                    let node = self.node(&event, &span)?;
                    members.push(Member { name: name.into_owned(), name_span, node });
                }
                (_, span) => return Err(unreadable(span, "a name must be plain text")),
            }
        }
    }

    fn alias(&mut self, anchor: usize, span: &Range<usize>) -> Result<DocumentNode, Unreadable> {
        // An anchor is known only after its node is complete, so a node cannot contain itself.
        let target =
            self.anchors.get(&anchor).ok_or_else(|| unreadable(span.clone(), "this alias names nothing"))?;
        *self.aliased += size(target);
        if *self.aliased > MAX_ALIASED {
            return Err(unreadable(span.clone(), "the aliases stand for too much"));
        }
        Ok(DocumentNode { span: span.clone(), content: target.content.clone() })
    }

    fn range(&self, span: &Span) -> Range<usize> {
        span.byte_range().unwrap_or(self.end..self.end)
    }

    fn unreadable(&self, error: &ScanError) -> Unreadable {
        let at = error.marker().byte_offset().unwrap_or(self.end);
        unreadable(at..at, &error.info())
    }
}

fn unreadable(span: Range<usize>, message: &str) -> Unreadable {
    Unreadable { span, message: message.to_owned() }
}

/// The end event of a block is where the next item starts; that of a flow collection is at its bracket.
fn whole(start: &Range<usize>, last: Option<usize>, end: &Range<usize>) -> Range<usize> {
    let flow = start.len() == 1 && end.len() == 1;
    start.start..if flow { end.end } else { last.unwrap_or(start.end) }
}

fn size(node: &DocumentNode) -> usize {
    let below: usize = match &node.content {
        NodeContent::Leaf(_) => 0,
        NodeContent::List(items) => items.iter().map(size).sum(),
        NodeContent::Map(members) => members.iter().map(|member| size(&member.node)).sum(),
    };
    1 + below
}

/// Returns the value of an unquoted scalar.
fn plain_value(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y" | "Y" => {
            Value::Bool(true)
        }
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n" | "N" => {
            Value::Bool(false)
        }
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<serde_json::Number> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let bare = text.replace('_', "");
    let negative = bare.starts_with('-');
    let bare = bare.trim_start_matches(['+', '-']);
    let based = [("0x", 16), ("0o", 8), ("0b", 2), ("0", 8)].into_iter().find_map(|(prefix, base)| {
        let digits = bare.strip_prefix(prefix)?;
        i64::from_str_radix(digits, base).ok()
    });
    if let Some(whole) = based {
        return Some(if negative { -whole } else { whole }.into());
    }
    let signed = if negative { format!("-{bare}") } else { bare.to_owned() };
    if let Ok(whole) = signed.parse::<i64>() {
        return Some(whole.into());
    }
    if let Ok(whole) = signed.parse::<u64>() {
        return Some(whole.into());
    }
    let fraction: f64 = bare.parse().ok()?;
    serde_json::Number::from_f64(if negative { -fraction } else { fraction })
}
