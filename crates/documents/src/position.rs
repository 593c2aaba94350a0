//! Converts byte offsets to lines and columns.

use std::ops::{Deref, Range};

use serde::Serialize;

/// A position as editors count it: line and column start at 1, and columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// The block size in bytes, which limits how much text is scanned for one column.
const BLOCK: usize = 1024;

/// A text with an index of its lines. A file can have a finding for every few bytes, all on one line, so computing a
/// position must not scan the text from its start or from the start of a line.
///
/// It has no `Debug`, because it may contain a password.
pub struct Text {
    content: String,
    /// The byte at which each line starts.
    starts: Vec<usize>,
    /// The number of characters that start before each block, and the total.
    characters: Vec<usize>,
}

impl Text {
    /// Scans the text once.
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

    /// Returns the position of a byte.
    #[must_use]
    pub fn position(&self, at: usize) -> Position {
        let at = self.content.floor_char_boundary(at);
        let line = self.line(at);
        let column = self.characters_before(at) - self.characters_before(self.starts[line]) + 1;
        Position { line: line + 1, column }
    }

    /// Returns the bytes of the line that contains a byte, without its line ending.
    #[must_use]
    pub fn line_at(&self, at: usize) -> Range<usize> {
        let line = self.line(at);
        let start = self.starts[line];
        let end = self.starts.get(line + 1).map_or(self.content.len(), |next| next - 1);
        let carriage_return = self.content[start..end].ends_with('\r');
        start..end - usize::from(carriage_return)
    }

    /// Returns whether a part extends over more than one line.
    #[must_use]
    pub fn spans_lines(&self, part: &Range<usize>) -> bool {
        self.line(part.start) < self.line(part.end)
    }

    /// Returns the line that contains a byte, counted from 0.
    fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at) - 1
    }

    /// Returns the number of characters that start before a byte.
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

/// Returns the number of characters that start in these bytes of a text.
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
