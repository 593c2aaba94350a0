//! What every byte of a file belongs to: something that may be shown, something that may not, or nothing that is known.

use std::ops::Range;

use pullwright_documents::{DocumentNode, NodeContent};

use super::File;
use super::visible::{Path, Visibility, is_harmless_toml, shows_name, shows_value};

/// The parts of a file that may be shown, and those that must be hidden. Both lists are sorted and do not overlap, so a binary
/// search finds the part that a byte belongs to.
pub(super) struct Shown {
    visible: Vec<Range<usize>>,
    hidden: Vec<Range<usize>>,
}

/// The part that a byte belongs to.
pub(super) enum Part {
    /// It may be shown.
    Visible,
    /// It is in this part, which must be hidden.
    Hidden(Range<usize>),
    /// It is in no known part.
    Unknown,
}

impl Shown {
    pub(super) fn of(file: &File<'_>, document: &DocumentNode) -> Self {
        let mut sorter = Sorter { file, shown: Self { visible: Vec::new(), hidden: Vec::new() } };
        sorter.value(document, &mut Vec::new());
        let Self { mut visible, hidden } = sorter.shown;
        visible.extend(headers(file));
        Self { visible: in_order(visible), hidden: in_order(hidden) }
    }

    /// One line of a file that cannot be parsed, if the line itself is harmless.
    pub(super) fn line(file: &File<'_>, line: Range<usize>) -> Option<Self> {
        let text = file.text.get(line.clone())?;
        let harmless = file.visibility == Visibility::Registries && is_harmless_toml(text);
        harmless.then(|| Self { visible: vec![line], hidden: Vec::new() })
    }

    /// The part that a byte belongs to. Hidden parts win, because an alias repeats the places of its anchor.
    pub(super) fn part(&self, at: usize) -> Part {
        match (around(&self.hidden, at), around(&self.visible, at)) {
            (Some(hidden), _) => Part::Hidden(hidden.clone()),
            (None, Some(_)) => Part::Visible,
            (None, None) => Part::Unknown,
        }
    }
}

/// The range that a byte is in, by binary search in sorted ranges.
fn around(ranges: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let next = ranges.partition_point(|range| range.end <= at);
    ranges.get(next).filter(|range| range.contains(&at))
}

/// Sorts the ranges, and keeps one of those that overlap.
fn in_order(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let overlap = next.start < last.end;
        if overlap {
            last.end = last.end.max(next.end);
        }
        overlap
    });
    ranges
}

/// The headers of tables. Each names the tables around it again, which have their place in the tree only once.
fn headers<'f>(file: &File<'f>) -> impl Iterator<Item = Range<usize>> + use<'f> {
    let begins = match file.visibility {
        Visibility::Registries => Some("["),
        Visibility::HostsToml => Some("[host."),
        _ => None,
    };
    let text = begins.map_or("", |_| &**file.text);
    let mut start = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let here = start;
        start += line.len();
        let header = line.trim();
        let is_header =
            header.starts_with(begins?) && header.ends_with(']') && !header.contains(['@', '#', '=']);
        is_header.then_some(here..start)
    })
}

/// Whether a character that belongs to no part may be shown.
pub(super) fn is_structure(c: char) -> bool {
    " \t{}[]:,-=.".contains(c)
}

struct Sorter<'f> {
    file: &'f File<'f>,
    shown: Shown,
}

impl Sorter<'_> {
    fn value<'a>(&mut self, node: &'a DocumentNode, path: &mut Path<'a>) {
        match &node.content {
            NodeContent::Leaf(_) => {
                // Wherever it stands, this may be `user:password@host`.
                let at_sign = self.file.text.get(node.span.clone()).is_none_or(|text| text.contains('@'));
                self.sort(&node.span, !at_sign && shows_value(self.file.visibility, path));
            }
            NodeContent::List(items) => {
                for item in items {
                    path.push(None);
                    self.value(item, path);
                    path.pop();
                }
            }
            NodeContent::Map(members) => {
                for member in members {
                    path.push(Some(&member.name));
                    let harmless = !member.name.contains('@') && shows_name(self.file.visibility, path);
                    self.sort(&member.name_span, harmless);
                    self.value(&member.node, path);
                    path.pop();
                }
            }
        }
    }

    fn sort(&mut self, span: &Range<usize>, visible: bool) {
        let parts = if visible { &mut self.shown.visible } else { &mut self.shown.hidden };
        parts.push(span.clone());
    }
}
