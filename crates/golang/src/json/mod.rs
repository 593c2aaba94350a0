//! The parts of Go's `encoding/json` that decide whether a Go program accepts a document: the grammar, the depth limit,
//! repaired strings, and case-folded member names.
//!
//! `serde_json` refuses documents that Go reads (a lone surrogate, a byte that is not UTF-8, `1e999`, nesting beyond
//! 128), and its errors quote the input, which in an auth file is a password. Errors here contain only a position.

use std::borrow::Cow;

use thiserror::Error;

mod grammar;
mod plain;
#[cfg(test)]
mod tests;

/// Why a text is not JSON. It contains nothing of the text, which may be full of secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum SyntaxError {
    /// The text ends too early.
    #[error("unexpected end of JSON input")]
    Truncated,
    /// A character that is not allowed at its position.
    #[error("invalid character at line {line}, column {column}")]
    Character {
        /// The line, counted from 1.
        line: usize,
        /// The column in bytes, counted from 1.
        column: usize,
    },
    /// More than 10 000 nested values.
    #[error("exceeded max depth")]
    Depth,
}

/// The kind of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JsonKind {
    /// `null`, which Go treats as absent.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number of any size.
    Number,
    /// A string.
    String,
    /// A list.
    Array,
    /// A map.
    Object,
}

impl JsonKind {
    /// Returns the kind as shown to users.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "a list",
            Self::Object => "an object",
        }
    }
}

/// A complete, checked JSON value, as the bytes it was written with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RawValue<'a>(&'a [u8]);

impl<'a> RawValue<'a> {
    /// Checks that `text` is one JSON value by Go's rules.
    ///
    /// # Errors
    /// The first position at which Go stops.
    pub fn parse(text: &'a [u8]) -> Result<Self, SyntaxError> {
        grammar::check(text)?;
        Ok(Self(text.trim_ascii()))
    }

    /// Returns the bytes of the value, without surrounding white space.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns the kind of the value.
    #[must_use]
    pub fn kind(self) -> JsonKind {
        match self.0.first() {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b't' | b'f') => JsonKind::Bool,
            Some(b'n') => JsonKind::Null,
            _ => JsonKind::Number,
        }
    }

    /// Returns the text of a string. Invalid Unicode is replaced as in Go.
    #[must_use]
    pub fn text(self) -> Option<Cow<'a, str>> {
        (self.kind() == JsonKind::String).then(|| unquote(&self.0[1..self.0.len() - 1]))
    }

    /// Returns the members of an object in the order written, including repeated names. Empty for any other value.
    #[must_use]
    pub fn members(self) -> Members<'a> {
        let rest = if self.kind() == JsonKind::Object { &self.0[1..] } else { &[] };
        Members { rest }
    }

    /// Returns the items of a list in order. Empty for any other value.
    pub fn items(self) -> impl Iterator<Item = RawValue<'a>> {
        let mut rest = if self.kind() == JsonKind::Array { &self.0[1..] } else { &[] };
        std::iter::from_fn(move || {
            rest = skip(rest, |byte| is_space(byte) || byte == b',');
            let length = if rest.first() == Some(&b']') { 0 } else { value_length(rest) };
            let (item, behind) = rest.split_at(length);
            rest = behind;
            (length > 0).then_some(RawValue(item))
        })
    }
}

/// The members of an object.
pub struct Members<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, RawValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.rest = skip(self.rest, |byte| is_space(byte) || byte == b',');
        if self.rest.first() != Some(&b'"') {
            return None;
        }
        let (name, rest) = self.rest.split_at(value_length(self.rest));
        let rest = skip(rest, |byte| is_space(byte) || byte == b':');
        let (value, rest) = rest.split_at(value_length(rest));
        self.rest = rest;
        Some((RawValue(name).text()?, RawValue(value)))
    }
}

/// Returns whether Go stores a member called `name` in a field tagged `field` (lower case). It does if they are equal
/// under Unicode's simple case folding: besides ASCII, `ſ` equals `s` and the Kelvin sign equals `k`.
#[must_use]
pub fn names_field(name: &str, field: &str) -> bool {
    if name.is_ascii() {
        return name.eq_ignore_ascii_case(field);
    }
    let folded = |letter: char| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    name.chars().map(folded).eq(field.chars().map(folded))
}

fn skip(bytes: &[u8], unwanted: impl Fn(u8) -> bool) -> &[u8] {
    let count = bytes.iter().take_while(|&&byte| unwanted(byte)).count();
    &bytes[count..]
}

/// Returns the length of the value that `checked` starts with.
fn value_length(checked: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = checked.get(at) {
        match byte {
            b'"' => at += string_length(&checked[at..]),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            _ => {
                let plain = |byte: &&u8| !is_space(**byte) && !b"\"{}[],:".contains(byte);
                at += checked[at..].iter().take_while(plain).count().max(1);
            }
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

fn string_length(checked: &[u8]) -> usize {
    let mut at = 1;
    while let Some(rest) = checked.get(at..) {
        at += plain::plain_length(rest);
        match checked.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            _ => break,
        }
    }
    checked.len()
}

/// Resolves the escapes of a checked string and replaces each byte and each `\u` that is not valid Unicode with U+FFFD.
fn unquote(quoted: &[u8]) -> Cow<'_, str> {
    if !quoted.contains(&b'\\')
        && let Ok(text) = std::str::from_utf8(quoted)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(quoted.len());
    let mut rest = quoted;
    while let Some(&byte) = rest.first() {
        if byte == b'\\' {
            let (letter, length) = escape(rest);
            text.push(letter);
            rest = &rest[length.min(rest.len())..];
        } else {
            let plain = rest.iter().position(|&byte| byte == b'\\').unwrap_or(rest.len());
            push_repaired(&mut text, &rest[..plain]);
            rest = &rest[plain..];
        }
    }
    Cow::Owned(text)
}

/// Returns the character of the escape that `rest` starts with, and the length of the escape.
fn escape(rest: &[u8]) -> (char, usize) {
    match rest.get(1) {
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'n') => ('\n', 2),
        Some(b'r') => ('\r', 2),
        Some(b't') => ('\t', 2),
        Some(b'u') => {
            let units = [code_unit(rest), code_unit(rest.get(6..).unwrap_or_default())];
            match char::decode_utf16(units.into_iter().flatten()).next() {
                Some(Ok(letter)) => (letter, 6 * letter.len_utf16()),
                _ => (char::REPLACEMENT_CHARACTER, 6),
            }
        }
        Some(&other) => (char::from(other), 2),
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

fn code_unit(rest: &[u8]) -> Option<u16> {
    let hex = rest.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

/// Go replaces each invalid byte, while Rust's lossy conversion replaces a whole broken sequence at once.
fn push_repaired(text: &mut String, mut bytes: &[u8]) {
    loop {
        match std::str::from_utf8(bytes) {
            Ok(valid) => return text.push_str(valid),
            Err(error) => {
                let (valid, broken) = bytes.split_at(error.valid_up_to());
                text.push_str(&String::from_utf8_lossy(valid));
                text.push(char::REPLACEMENT_CHARACTER);
                bytes = broken.get(1..).unwrap_or_default();
            }
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}
