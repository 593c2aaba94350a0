//! The line of a file that a message points at, with carets under what is meant.

use std::io::{self, Write};
use std::ops::Range;

use anstyle::Style;

use super::File;
use super::visible::{Shown, is_structure};
use crate::style::{FAINT, paint};
use pullwright_documents::{Node, line_at};

/// What stands for something that is not shown.
const HIDDEN: &str = "•••";
const TAB: &str = "    ";
/// The most characters that are shown of a line.
const WIDTH: usize = 120;

/// A line and the columns in it that are meant, as they are printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    line: String,
    caret: Range<usize>,
}

impl Excerpt {
    /// The line at the beginning of `span`; none where the file's parts are not known well enough to show any.
    pub(super) fn new(file: &File<'_>, documents: &[&Node], span: Range<usize>) -> Option<Self> {
        let line = line_at(file.text, span.start);
        let shown = match documents {
            [] => Shown::line(file, line.clone())?,
            documents => Shown::of(file, documents),
        };
        let mut printed = Printed::default();
        let mut caret = None;
        let mut cut = false;
        for (offset, c) in file.text.get(line.clone())?.char_indices() {
            let at = line.start + offset;
            if at >= span.start && caret.is_none() {
                caret = Some(printed.width);
            }
            if at >= span.end.max(span.start + 1) && caret.is_some() && printed.end.is_none() {
                printed.end = Some(printed.width);
            }
            if shown.is_visible(at) {
                printed.push(c);
            } else if let Some(hidden) = shown.hidden_at(at) {
                printed.hide(hidden);
            } else if is_structure(c) {
                printed.push(c);
            } else {
                // A comment, or something that no part of the document accounts for.
                cut = true;
                break;
            }
        }
        if cut && caret.is_none() {
            return None;
        }
        let start = caret.unwrap_or(printed.width);
        let end = printed.end.unwrap_or(printed.width).max(start + 1);
        Some(Self::around(&printed.text, start..end))
    }

    /// Of a long line, the part around what is meant.
    fn around(line: &str, caret: Range<usize>) -> Self {
        let line = line.trim_end();
        let length = line.chars().count();
        let skipped = if length > WIDTH { caret.start.saturating_sub(WIDTH / 4) } else { 0 };
        let mut shown: String = line.chars().skip(skipped).take(WIDTH).collect();
        let mut caret = caret.start - skipped..caret.end.min(skipped + WIDTH) - skipped;
        if skipped > 0 {
            shown.insert(0, '…');
            caret = caret.start + 1..caret.end + 1;
        }
        if length > skipped + WIDTH {
            shown.push('…');
        }
        Self { line: shown, caret }
    }

    pub(super) fn write(&self, number: usize, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let number = number.to_string();
        let margin = " ".repeat(number.len());
        let bar = paint(FAINT, "|");
        writeln!(out, "{margin} {bar}")?;
        writeln!(out, "{} {bar} {}", paint(FAINT, &number), self.line)?;
        let carets = paint(style, "^".repeat(self.caret.len()));
        writeln!(out, "{margin} {bar} {:indent$}{carets}", "", indent = self.caret.start)
    }
}

#[derive(Default)]
struct Printed {
    text: String,
    width: usize,
    end: Option<usize>,
    hidden: Option<usize>,
}

impl Printed {
    fn push(&mut self, c: char) {
        match c {
            '\t' => self.add(TAB),
            c if c.is_control() => self.add("\u{fffd}"),
            c => self.add(c.encode_utf8(&mut [0; 4])),
        }
    }

    /// Once for each thing that is hidden, whatever its length.
    fn hide(&mut self, which: usize) {
        if self.hidden != Some(which) {
            self.hidden = Some(which);
            self.add(HIDDEN);
        }
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        self.width += text.chars().count();
    }
}
