//! Bytes to lines and columns.

use std::ops::Range;

use serde::Serialize;

/// A place as editors count: both from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// The position of a byte.
#[must_use]
pub fn position(text: &str, at: usize) -> Position {
    let before = before(text, at);
    let line = line_at(text, at);
    Position {
        line: before.matches('\n').count() + 1,
        column: before.get(line.start..).unwrap_or_default().chars().count() + 1,
    }
}

/// The bytes of the line that a byte is in, without its end.
#[must_use]
pub fn line_at(text: &str, at: usize) -> Range<usize> {
    let before = before(text, at);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[start..];
    let length = rest.find('\n').unwrap_or(rest.len());
    start..start + rest[..length].trim_end_matches('\r').len()
}

/// The text up to a byte, or up to the beginning of the character that the byte is in.
fn before(text: &str, at: usize) -> &str {
    &text[..text.floor_char_boundary(at)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters() {
        let text = "a\r\nßß=1\n";
        assert_eq!(position(text, 0), Position { line: 1, column: 1 });
        assert_eq!(position(text, text.find('=').unwrap()), Position { line: 2, column: 3 });
        assert_eq!(position(text, 4), Position { line: 2, column: 1 }, "inside of a character");
        assert_eq!(position(text, text.len()), Position { line: 3, column: 1 });
        assert_eq!(position(text, 999), Position { line: 3, column: 1 });
        assert_eq!(&text[line_at(text, 0)], "a");
        assert_eq!(&text[line_at(text, 5)], "ßß=1");
    }
}
