//! Converts bytes to text, and says where they are not UTF-8.

use std::io;

/// The first place at which bytes are not UTF-8, as editors count: both from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not UTF-8 text at line {line}, column {column}")]
pub struct NotUtf8 {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl NotUtf8 {
    /// The place that an error of this crate is about.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// The bytes as text.
///
/// # Errors
/// [`NotUtf8`], if they are not UTF-8.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let (good, _) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let good = String::from_utf8_lossy(good);
        let (line, last) = good.split('\n').enumerate().last().unwrap_or_default();
        let place = NotUtf8 { line: line + 1, column: last.chars().count() + 1 };
        io::Error::new(io::ErrorKind::InvalidData, place)
    })
}
