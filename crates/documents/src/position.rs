//! Bytes to lines and columns.

use std::ops::{Deref, Range};

use serde::Serialize;

/// A place as editors count: both from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// How many bytes are counted for one column at most.
const BLOCK: usize = 1024;

/// A text that knows where its lines begin. A file may have a finding for every few bytes, all of them on one line: no
/// position may cost a look at the text from its beginning, or from the beginning of a line.
///
/// It may hold a password, so it has no `Debug`.
pub struct Text {
    content: String,
    /// The byte that each line begins at.
    starts: Vec<usize>,
    /// How many characters begin before each block, and in all of them.
    characters: Vec<usize>,
}

impl Text {
    /// Reads the text once.
    #[must_use]
    pub fn new(text: String) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect();
        let blocks = text.as_bytes().chunks(BLOCK).scan(0, |before, block| {
            *before += characters(block);
            Some(*before)
        });
        let characters = std::iter::once(0).chain(blocks).collect();
        Self { content: text, starts, characters }
    }

    /// The position of a byte.
    #[must_use]
    pub fn position(&self, at: usize) -> Position {
        let at = self.content.floor_char_boundary(at);
        let line = self.line(at);
        let column = self.characters_before(at) - self.characters_before(self.starts[line]) + 1;
        Position { line: line + 1, column }
    }

    /// The bytes of the line that a byte is in, without its end.
    #[must_use]
    pub fn line_at(&self, at: usize) -> Range<usize> {
        let line = self.line(at);
        let start = self.starts[line];
        let end = self.starts.get(line + 1).map_or(self.content.len(), |next| next - 1);
        let carriage_return = self.content[start..end].ends_with('\r');
        start..end - usize::from(carriage_return)
    }

    /// Whether a part goes on in another line.
    #[must_use]
    pub fn spans_lines(&self, part: &Range<usize>) -> bool {
        self.line(part.start) < self.line(part.end)
    }

    /// The line, from 0, that a byte is in.
    fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at) - 1
    }

    /// How many characters begin before a byte.
    fn characters_before(&self, at: usize) -> usize {
        let block = at / BLOCK;
        self.characters[block] + characters(&self.content.as_bytes()[block * BLOCK..at])
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.content
    }
}

/// How many characters begin in these bytes of a text.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| !matches!(byte, 0x80..0xc0)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters() {
        let text = Text::new("a\r\nßß=1\n".to_owned());
        assert_eq!(text.position(0), Position { line: 1, column: 1 });
        assert_eq!(text.position(text.find('=').unwrap()), Position { line: 2, column: 3 });
        assert_eq!(text.position(4), Position { line: 2, column: 1 }, "inside of a character");
        assert_eq!(text.position(text.len()), Position { line: 3, column: 1 });
        assert_eq!(text.position(999), Position { line: 3, column: 1 });
        assert_eq!(&text[text.line_at(0)], "a");
        assert_eq!(&text[text.line_at(5)], "ßß=1");
        assert_eq!(&text[text.line_at(999)], "");
        assert!(text.spans_lines(&(0..5)) && !text.spans_lines(&(3..6)));
    }

    #[test]
    fn positions_are_those_that_counting_from_the_beginning_gives() {
        for line in ["ß".repeat(700), "a€".repeat(BLOCK), "x".repeat(BLOCK - 1), "x".repeat(2 * BLOCK)] {
            let text = Text::new(format!("{line}\n\n{line}\r\n{line}"));
            for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
                let before = &text[..at];
                let start = before.rfind('\n').map_or(0, |newline| newline + 1);
                let expected = Position {
                    line: before.matches('\n').count() + 1,
                    column: before[start..].chars().count() + 1,
                };
                assert_eq!(text.position(at), expected);
            }
        }
    }
}
