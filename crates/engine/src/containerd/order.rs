//! The order in which containerd asks the hosts of a `hosts.toml`: the order of the tables in the text.
//!
//! containerd's decoder loses the order, so containerd reads the table headers a second time. This module reproduces the
//! consequences: a host without a table of its own is not asked, and a host whose tables are not next to each other is asked
//! twice.

use std::borrow::Cow;

use toml_parser::parser::{EventReceiver, RecursionGuard, parse_document};
use toml_parser::{ErrorSink, Source, Span, decoder::Encoding};

/// More than any `hosts.toml` needs.
const MAX_DEPTH: u32 = 64;

/// Returns the hosts in the order of their tables. The text must be valid TOML.
pub(super) fn hosts(text: &str) -> Vec<String> {
    let source = Source::new(text);
    let tokens = source.lex().into_vec();
    let mut headers = Headers { source, header: None, hosts: Vec::new() };
    let mut guarded = RecursionGuard::new(&mut headers, MAX_DEPTH);
    parse_document(&tokens, &mut guarded, &mut ());
    headers.hosts
}

struct Headers<'t> {
    source: Source<'t>,
    /// The parts of the header that is being read, if any.
    header: Option<Vec<Cow<'t, str>>>,
    hosts: Vec<String>,
}

impl EventReceiver for Headers<'_> {
    fn std_table_open(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.header = Some(Vec::new());
    }

    fn std_table_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        if let Some([first, host, ..]) = self.header.take().as_deref()
            && first == "host"
            // The empty string also means "no host yet", so a first host with an empty name is skipped.
            && self.hosts.last().map_or("", String::as_str) != host
        {
            self.hosts.push(host.to_string());
        }
    }

    fn simple_key(&mut self, span: Span, encoding: Option<Encoding>, error: &mut dyn ErrorSink) {
        if let (Some(parts), Some(raw)) = (&mut self.header, self.source.get(span)) {
            let mut part = Cow::Borrowed("");
            toml_parser::Raw::new_unchecked(raw.as_str(), encoding, span).decode_key(&mut part, error);
            parts.push(part);
        }
    }
}
