//! Parses TOML as the decoder of Go programs (BurntSushi/toml) does, into a tree with the position of every value.
//!
//! The grammar is that of every TOML parser. What may be defined twice differs; see `define.rs`.

mod define;
mod receive;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use toml_parser::parser::{RecursionGuard, ValidateWhitespace, parse_document};
use toml_parser::{Expected, ParseError, Source};

use self::receive::Receiver;

/// How deep keys, lists, and inline tables may nest. Go is limited only by its memory. Here the limit is set by the
/// parser's own stack. Files in practice have four levels.
pub const MAX_DEPTH: u32 = 200;

/// The parser's own message when it reaches its depth limit.
const TOO_DEEP: &str = "cannot recurse further; max recursion depth met";

/// A parsed TOML text. The nodes are stored side by side, so that dropping a deeply nested document cannot exhaust the
/// stack.
#[derive(Debug)]
pub struct Document<'t> {
    nodes: Vec<TomlNode<'t>>,
}

/// Why a text is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlRefusal {
    /// What is wrong.
    pub fault: Fault,
    /// The affected bytes.
    pub span: Option<Range<usize>>,
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The text is not TOML, or it defines something twice.
    Syntax(String),
    /// A number that does not fit into 64 bits, or a date or time that does not exist.
    OutOfRange(String),
    /// The text nests deeper than [`MAX_DEPTH`].
    Depth,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(message) => f.write_str(message),
            Self::OutOfRange(what) => write!(f, "{what} is out of range"),
            Self::Depth => write!(f, "more than {MAX_DEPTH} levels of nesting"),
        }
    }
}

#[derive(Debug)]
struct TomlNode<'t> {
    span: Range<usize>,
    content: TomlContent<'t>,
}

#[derive(Debug)]
enum TomlContent<'t> {
    Text(Cow<'t, str>),
    Boolean(bool),
    /// A number or a time, whose value is not needed. The text is the name of its type.
    Other(&'static str),
    List(Vec<usize>),
    /// `[[…]]`, which can be extended.
    Tables(Vec<usize>),
    Table(BTreeMap<Cow<'t, str>, TomlEntry>),
}

#[derive(Debug)]
struct TomlEntry {
    key: Range<usize>,
    node: usize,
}

/// The root table.
const ROOT: usize = 0;

impl<'t> Document<'t> {
    /// Parses a text. Time and memory depend only on its length.
    ///
    /// # Errors
    /// The first problem for which Go refuses it.
    pub fn parse(text: &'t str) -> Result<Self, TomlRefusal> {
        let source = Source::new(text);
        let tokens = source.lex().into_vec();
        let mut receiver = Receiver::new(source);
        let mut error = None;
        {
            let mut validated = ValidateWhitespace::new(&mut receiver, source);
            let mut guarded = RecursionGuard::new(&mut validated, MAX_DEPTH);
            parse_document(&tokens, &mut guarded, &mut error);
        }
        match (error.or(receiver.error), receiver.out_of_range) {
            (Some(error), _) if receiver.too_deep || error.description() == TOO_DEEP => {
                Err(TomlRefusal { fault: Fault::Depth, span: unexpected(&error) })
            }
            (Some(error), _) => Err(TomlRefusal::syntax(&error)),
            (None, Some(refusal)) => Err(refusal),
            (None, None) => Ok(Self { nodes: receiver.definitions.nodes }),
        }
    }

    /// Returns the root table of the document.
    #[must_use]
    pub fn root(&self) -> Value<'_, 't> {
        Value { document: self, node: ROOT }
    }
}

/// A value in a document.
#[derive(Debug, Clone, Copy)]
pub struct Value<'d, 't> {
    document: &'d Document<'t>,
    node: usize,
}

impl<'d, 't> Value<'d, 't> {
    fn content(self) -> &'d TomlContent<'t> {
        &self.document.nodes[self.node].content
    }

    /// Returns the position of the value. For a table, it is that of its header or of the key that created it.
    #[must_use]
    pub fn span(self) -> Range<usize> {
        self.document.nodes[self.node].span.clone()
    }

    /// Returns the name of the value's type.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self.content() {
            TomlContent::Text(_) => "string",
            TomlContent::Boolean(_) => "boolean",
            TomlContent::Other(noun) => noun,
            TomlContent::List(_) | TomlContent::Tables(_) => "array",
            TomlContent::Table(_) => "table",
        }
    }

    /// Returns the text if the value is a string.
    #[must_use]
    pub fn text(self) -> Option<&'d Cow<'t, str>> {
        match self.content() {
            TomlContent::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the boolean if the value is one.
    #[must_use]
    pub fn boolean(self) -> Option<bool> {
        match self.content() {
            TomlContent::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the items of a list, in either notation.
    #[must_use]
    pub fn items(self) -> Option<impl ExactSizeIterator<Item = Value<'d, 't>>> {
        match self.content() {
            TomlContent::List(items) | TomlContent::Tables(items) => {
                Some(items.iter().map(move |&node| Value { document: self.document, node }))
            }
            _ => None,
        }
    }

    /// Returns the table if the value is one.
    #[must_use]
    pub fn table(self) -> Option<Table<'d, 't>> {
        match self.content() {
            TomlContent::Table(entries) => Some(Table { document: self.document, entries }),
            _ => None,
        }
    }
}

/// A table in a document.
#[derive(Debug, Clone, Copy)]
pub struct Table<'d, 't> {
    document: &'d Document<'t>,
    entries: &'d BTreeMap<Cow<'t, str>, TomlEntry>,
}

impl<'d, 't> Table<'d, 't> {
    /// Returns the entries in byte order of their keys: the key, its first position, and the value.
    pub fn entries(self) -> impl Iterator<Item = (&'d str, Range<usize>, Value<'d, 't>)> {
        self.entries.iter().map(move |(name, entry)| {
            (&**name, entry.key.clone(), Value { document: self.document, node: entry.node })
        })
    }
}

impl TomlRefusal {
    fn syntax(error: &ParseError) -> Self {
        let mut message = error.description().to_owned();
        let expected = error.expected().map(|expected| expected.iter().map(described).collect::<Vec<_>>());
        match expected.as_deref() {
            None => {}
            Some([]) => message.push_str(", expected nothing"),
            Some(expected) => {
                message.push_str(", expected ");
                message.push_str(&expected.join(", "));
            }
        }
        Self { fault: Fault::Syntax(message), span: unexpected(error) }
    }
}

fn unexpected(error: &ParseError) -> Option<Range<usize>> {
    error.unexpected().map(|span| span.start()..span.end())
}

fn described(expected: &Expected) -> String {
    match expected {
        Expected::Literal("\n") => "newline".to_owned(),
        Expected::Literal("`") => "'`'".to_owned(),
        Expected::Literal(literal) if literal.chars().all(|c| c.is_ascii_control()) => {
            format!("`{}`", literal.escape_debug())
        }
        Expected::Literal(literal) => format!("`{literal}`"),
        Expected::Description(description) => (*description).to_owned(),
        _ => "etc".to_owned(),
    }
}

#[cfg(test)]
mod tests;
