//! In which order containerd asks the hosts of a `hosts.toml`: that of the tables in the text.
//!
//! Its decoder loses the order, so containerd reads the headers of the tables a second time. What follows from that is
//! kept here: a host that is not written as a table of its own is not asked, and one whose tables stand apart is
//! asked twice.

use std::borrow::Cow;

use toml_parser::parser::{EventReceiver, RecursionGuard, parse_document};
use toml_parser::{ErrorSink, Source, Span, decoder::Encoding};

/// Deeper than any `hosts.toml`.
const MAX_DEPTH: u32 = 64;

/// The hosts in the order of their tables. The text must have been read as TOML before.
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
    /// The parts of the header that is being read, if one is.
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
            // Nothing stands for no host yet, so a first host without a name is passed over.
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
