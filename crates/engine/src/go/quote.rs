//! Go's `%q`: the quoting in the error texts of the programs whose decisions we repeat.

use std::fmt::Write;

/// `text` as Go's `strconv.Quote` prints it, for text made of the characters that configuration holds.
///
/// Go asks a Unicode table whether a character is printable. We take control characters and the separators
/// and private areas that matter as not printable and everything else as printable.
#[must_use]
pub fn quote(text: &str) -> String {
    quote_bytes(text.as_bytes())
}

/// The same for text that may not be UTF-8: a stray byte is shown in hexadecimal.
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

fn is_printable(c: char) -> bool {
    !(c.is_control()
        || (c != ' ' && c.is_whitespace())
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{f0000}'..))
}

#[cfg(test)]
mod tests {
    use super::{quote, quote_bytes};

    #[test]
    fn quotes_as_go_does() {
        assert_eq!(quote("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(quote("tab\tnul\0"), r#""tab\tnul\x00""#);
        assert_eq!(quote("é\u{200b}"), "\"é\\u200b\"");
        assert_eq!(quote_bytes(b"a\xc3\""), r#""a\xc3\"""#);
    }
}
