//! Builds keys, values, and tables from the parser's events.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;
use toml_parser::decoder::{Encoding, ScalarKind};
use toml_parser::parser::EventReceiver;
use toml_parser::{ErrorSink, ParseError, Raw, Source, Span};

use super::define::{Definitions, Key, Objection, TablePlace};
use super::{Fault, TomlContent, TomlRefusal};

pub(super) struct Receiver<'t> {
    source: Source<'t>,
    pub(super) definitions: Definitions<'t>,
    pub(super) out_of_range: Option<TomlRefusal>,
    /// The start of the header that is being read.
    header: usize,
    /// The parts of the key that is being read.
    keys: Vec<Key<'t>>,
    /// The table of the last header.
    table: Level<'t>,
    /// The open inline tables, innermost last.
    inline: Vec<Level<'t>>,
    /// What is open on the right side of a `=`, innermost last.
    open: Vec<Open>,
    /// The first error in a key or value. Structural errors take precedence, so those of the parser are kept
    /// separately.
    pub(super) error: Option<ParseError>,
    /// Whether something was refused. Everything after that is meaningless.
    refused: bool,
    /// Whether the depth was the reason.
    pub(super) too_deep: bool,
}

/// A table in which keys are defined.
struct Level<'t> {
    place: TablePlace,
    /// The key whose value comes next.
    key: Option<(TablePlace, Key<'t>)>,
}

enum Open {
    List { start: usize, items: Vec<usize> },
    Table { node: usize },
}

impl<'t> Receiver<'t> {
    pub(super) fn new(source: Source<'t>) -> Self {
        Self {
            source,
            definitions: Definitions::new(),
            out_of_range: None,
            header: 0,
            keys: Vec::new(),
            table: Level { place: TablePlace::ROOT, key: None },
            inline: Vec::new(),
            open: Vec::new(),
            error: None,
            refused: false,
            too_deep: false,
        }
    }

    fn level(&mut self) -> &mut Level<'t> {
        self.inline.last_mut().unwrap_or(&mut self.table)
    }

    fn in_list(&self) -> bool {
        matches!(self.open.last(), Some(Open::List { .. }))
    }

    fn refuse(&mut self, message: &'static str, span: Span) {
        self.refused = true;
        self.error.report_error(ParseError::new(message).with_unexpected(span));
    }

    /// Returns the value, unless there is an objection, which ends the parsing.
    fn allowed<T>(&mut self, result: Result<T, Objection>, span: Span) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(objection) => {
                self.too_deep = objection == Objection::Depth;
                self.refuse(objection.message(), span);
                None
            }
        }
    }

    fn close_header(&mut self, is_list: bool, span: Span) {
        if self.refused {
            return;
        }
        let keys = std::mem::take(&mut self.keys);
        let header = self.header..span.end();
        let place = if is_list {
            self.definitions.list_header(&keys, header)
        } else {
            self.definitions.header(&keys, header)
        };
        let last = keys.last().map_or(span, |key| to_span(&key.span));
        if let Some(place) = self.allowed(place, last) {
            self.table = Level { place, key: None };
        }
    }

    /// Assigns a value to the key or list that is waiting for one.
    fn value(&mut self, node: usize, is_list: bool) {
        if let Some(Open::List { items, .. }) = self.open.last_mut() {
            items.push(node);
            return;
        }
        let Some((place, key)) = self.level().key.take() else { return };
        let result = self
            .definitions
            .set(place, &key, node)
            .and_then(|()| self.definitions.remember_list(place, &key, is_list));
        self.allowed(result, to_span(&key.span));
    }

    /// Key, `=`, and value must be on one line, even in an inline table, which may otherwise span several. The parser
    /// accepts a newline there, but the Go decoder does not.
    fn end_of_line(&mut self, span: Span) {
        if self.refused || self.in_list() {
            return;
        }
        if !self.keys.is_empty() || self.level().key.is_some() {
            self.refuse("key, `=` and value must stand on one line", span);
        }
    }

    fn scalar_content(&mut self, raw: Raw<'t>, span: Span) -> TomlContent<'t> {
        let mut decoded = Cow::Borrowed("");
        let kind = raw.decode_scalar(&mut decoded, &mut self.error);
        let (noun, fits) = match kind {
            ScalarKind::String => return TomlContent::Text(decoded),
            ScalarKind::Boolean(value) => return TomlContent::Boolean(value),
            ScalarKind::Integer(radix) => ("integer", i64::from_str_radix(&decoded, radix.value()).is_ok()),
            ScalarKind::Float => {
                let infinite = decoded.parse::<f64>().is_ok_and(f64::is_infinite);
                ("float", !infinite || decoded.ends_with("inf"))
            }
            ScalarKind::DateTime => ("datetime", self.is_moment(&decoded, span)),
        };
        if !fits {
            let fault = Fault::OutOfRange(decoded.into_owned());
            self.out_of_range.get_or_insert(TomlRefusal { fault, span: Some(to_range(span)) });
        }
        TomlContent::Other(noun)
    }
}

impl Receiver<'_> {
    /// Returns whether the date or time exists.
    fn is_moment(&mut self, text: &str, span: Span) -> bool {
        let Ok(DeValue::Datetime(moment)) = DeValue::parse(text).map(Spanned::into_inner) else {
            self.refuse("no valid date or time", span);
            return true;
        };
        // Go has no leap seconds.
        moment.time.is_none_or(|time| time.second != Some(60))
    }
}

impl EventReceiver for Receiver<'_> {
    fn std_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.header = span.start();
        self.keys.clear();
    }

    fn std_table_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.close_header(false, span);
    }

    fn array_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.header = span.start();
        self.keys.clear();
    }

    fn array_table_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.close_header(true, span);
    }

    fn simple_key(&mut self, span: Span, encoding: Option<Encoding>, _: &mut dyn ErrorSink) {
        if self.refused {
            return;
        }
        let Some(raw) = self.source.get(span) else { return };
        let mut name = Cow::Borrowed("");
        Raw::new_unchecked(raw.as_str(), encoding, span).decode_key(&mut name, &mut self.error);
        self.keys.push(Key { name, span: to_range(span) });
    }

    fn key_val_sep(&mut self, _: Span, _: &mut dyn ErrorSink) {
        if self.refused {
            return;
        }
        let is_inline = !self.open.is_empty();
        let mut keys = std::mem::take(&mut self.keys);
        let Some(last) = keys.pop() else { return };
        let mut place = self.level().place;
        for key in &keys {
            let entered = if is_inline {
                self.definitions.enter_inline(place, key)
            } else {
                self.definitions.enter(place, key)
            };
            match self.allowed(entered, to_span(&key.span)) {
                Some(entered) => place = entered,
                None => return,
            }
        }
        self.level().key = Some((place, last));
    }

    fn scalar(&mut self, span: Span, encoding: Option<Encoding>, _: &mut dyn ErrorSink) {
        if self.refused {
            return;
        }
        let Some(raw) = self.source.get(span) else { return };
        let raw = Raw::new_unchecked(raw.as_str(), encoding, span);
        let content = self.scalar_content(raw, span);
        let node = self.definitions.add(to_range(span), content);
        self.value(node, false);
    }

    fn array_open(&mut self, span: Span, _: &mut dyn ErrorSink) -> bool {
        if self.refused {
            return true;
        }
        if let Some((place, key)) = self.level().key.take() {
            let remembered = self.definitions.remember_list(place, &key, true);
            self.allowed(remembered, span);
            self.level().key = Some((place, key));
        }
        self.open.push(Open::List { start: span.start(), items: Vec::new() });
        true
    }

    fn array_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        if self.refused {
            return;
        }
        if let Some(Open::List { start, items }) = self.open.pop_if(|open| matches!(open, Open::List { .. }))
        {
            let node = self.definitions.add(start..span.end(), TomlContent::List(items));
            self.value(node, true);
        }
    }

    fn inline_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) -> bool {
        if self.refused {
            return true;
        }
        if let Some((place, key)) = self.level().key.take() {
            let opened = if self.in_list() {
                self.definitions.inline_item(place, &key, to_range(span))
            } else {
                self.definitions.inline(place, &key, to_range(span))
            };
            let opened = self.allowed(opened, to_span(&key.span));
            self.level().key = Some((place, key));
            if let Some((place, node)) = opened {
                self.inline.push(Level { place, key: None });
                self.open.push(Open::Table { node });
            }
        }
        true
    }

    fn inline_table_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        if self.refused {
            return;
        }
        if let Some(Open::Table { node }) = self.open.pop_if(|open| matches!(open, Open::Table { .. })) {
            self.inline.pop();
            self.definitions.end_at(node, span.end());
            self.value(node, false);
        }
    }

    fn comment(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.end_of_line(span);
    }

    fn newline(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.end_of_line(span);
    }
}

fn to_range(span: Span) -> Range<usize> {
    span.start()..span.end()
}

fn to_span(range: &Range<usize>) -> Span {
    Span::new_unchecked(range.start, range.end)
}
