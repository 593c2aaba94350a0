//! Go's `%q`, the quoting in the error messages of the programs whose decisions this project reproduces.

use std::fmt::Write;

/// Returns `text` as Go's `strconv.Quote` prints it.
#[must_use]
pub fn quote(text: &str) -> String {
    quote_bytes(text.as_bytes())
}

/// The same for text that may not be UTF-8. Invalid bytes are shown in hexadecimal.
#[must_use]
pub fn quote_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        push_escaped(&mut out, chunk.valid());
        for byte in chunk.invalid() {
            // Writing into a String cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

fn push_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            c if is_printable(c) => out.push(c),
            c if (c as u32) < 0x80 => push_hex(out, 'x', 2, c),
            c if (c as u32) < 0x1_0000 => push_hex(out, 'u', 4, c),
            c => push_hex(out, 'U', 8, c),
        }
    }
}

fn push_hex(out: &mut String, letter: char, width: usize, c: char) {
    // Writing into a String cannot fail.
    let _ = write!(out, "\\{letter}{:0width$x}", c as u32);
}

/// Rust has the same table of letters, marks, numbers, punctuation, and symbols as Go, but only uses it to escape text.
/// At the start of a text it also escapes marks, so another character is put first.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let mut text = [b'.'; 5];
    let length = 1 + c.encode_utf8(&mut text[1..]).len();
    std::str::from_utf8(&text[..length]).is_ok_and(|text| text.escape_debug().nth(1) == Some(c))
}

#[cfg(test)]
mod tests {
    use super::{quote, quote_bytes};

    #[test]
    fn quotes_as_go_does() {
        assert_eq!(quote("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(quote("tab\tnul\0"), r#""tab\tnul\x00""#);
        assert_eq!(quote("é\u{200b}"), "\"é\\u200b\"");
        // A mark, a format character, an unassigned one, a space that is not the space, private use.
        assert_eq!(
            quote("a\u{301}\u{ad}\u{74c}\u{a0}\u{f0000}'"),
            "\"a\u{301}\\u00ad\\u074c\\u00a0\\U000f0000'\""
        );
        assert_eq!(quote_bytes(b"a\xc3\""), r#""a\xc3\"""#);
    }
}
