//! The line of a file that a message points at, with carets under the part in question.

use std::io::{self, Write};
use std::ops::Range;

use anstyle::Style;

use super::shown::{Part, Shown, is_structure};
use crate::style::{FAINT, paint};
use pullwright_documents::Text;

/// Replaces a hidden part, whatever its length.
const HIDDEN: &str = "•••";
const TAB: &str = "    ";
/// How many characters of a line are shown at most.
const WIDTH: usize = 120;

/// A line as it is printed, and the columns to mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    line: String,
    caret: Range<usize>,
}

impl Excerpt {
    /// The line at the beginning of `span`, or what is around there of a long one; none if something unknown stands before
    /// it. A file may be one line with a finding for every few bytes of it, so no more is looked at than is shown.
    pub(super) fn new(text: &Text, shown: &Shown, span: Range<usize>) -> Option<Self> {
        let line = text.line_at(span.start);
        let start = span.start.min(line.end);
        let before = Side::before(text, shown, line.start..start);
        if before.ends == Ends::Unknown {
            return None;
        }
        let after = Side::after(text, shown, start..line.end, span.end.max(start + 1));
        Some(Self::around(before, after))
    }

    fn around(before: Side, after: Side) -> Self {
        let Side { printed: mut left, ends, .. } = before;
        let mut right = after.printed;
        let whole = ends == Ends::Line && after.ends != Ends::Width && left.len() + right.len() <= WIDTH;
        let room = if whole { left.len() } else { left.len().min(WIDTH / 4) };
        let cut_left = room < left.len() || ends == Ends::Width;
        left.truncate(room);
        let cut_right = !whole && (right.len() > WIDTH - room || after.ends == Ends::Width);
        right.truncate(if whole { right.len() } else { WIDTH - room });
        let mark = |cut: bool| cut.then_some('…');
        let start = room + usize::from(cut_left);
        let end = start + after.meant.unwrap_or(right.len()).min(right.len());
        let line =
            mark(cut_left).into_iter().chain(left.into_iter().rev()).chain(right).chain(mark(cut_right));
        Self { line: line.collect(), caret: start..end.max(start + 1) }
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

/// The part of a line on one side of the marked place, outwards from there.
struct Side {
    printed: Vec<char>,
    /// How much of it is marked, if something follows.
    meant: Option<usize>,
    ends: Ends,
}

/// Why a side ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// The line begins or ends there.
    Line,
    /// The limit of what is shown is reached.
    Width,
    /// A comment, or something else that no part of the document accounts for.
    Unknown,
}

impl Side {
    fn before(text: &Text, shown: &Shown, range: Range<usize>) -> Self {
        let mut side = Self { printed: Vec::new(), meant: None, ends: Ends::Line };
        let mut at = range.end;
        while let Some(c) = text.get(range.start..at).and_then(|rest| rest.chars().next_back()) {
            at -= c.len_utf8();
            let part = shown.part(at);
            if let Part::Hidden(hidden) = &part {
                at = hidden.start.max(range.start);
            }
            if !side.add(c, &part) {
                break;
            }
        }
        side
    }

    fn after(text: &Text, shown: &Shown, range: Range<usize>, meant: usize) -> Self {
        let mut side = Self { printed: Vec::new(), meant: None, ends: Ends::Line };
        let mut at = range.start;
        while let Some(c) = text.get(at..range.end).and_then(|rest| rest.chars().next()) {
            if at >= meant && side.meant.is_none() {
                side.meant = Some(side.printed.len());
            }
            let part = shown.part(at);
            at = match &part {
                Part::Hidden(hidden) => hidden.end.min(range.end),
                _ => at + c.len_utf8(),
            };
            if !side.add(c, &part) {
                break;
            }
        }
        if side.ends != Ends::Width {
            let space = side.printed.iter().rev().take_while(|c| c.is_whitespace()).count();
            side.printed.truncate(side.printed.len() - space);
        }
        side
    }

    /// Prints a character or the replacement for a hidden part; `false` if neither may be shown.
    fn add(&mut self, c: char, part: &Part) -> bool {
        if self.printed.len() > WIDTH {
            self.ends = Ends::Width;
            return false;
        }
        match (part, c) {
            (Part::Hidden(_), _) => self.printed.extend(HIDDEN.chars()),
            (Part::Unknown, c) if !is_structure(c) => {
                self.ends = Ends::Unknown;
                return false;
            }
            (_, '\t') => self.printed.extend(TAB.chars()),
            (_, c) if c.is_control() => self.printed.push('\u{fffd}'),
            (_, c) => self.printed.push(c),
        }
        true
    }
}
