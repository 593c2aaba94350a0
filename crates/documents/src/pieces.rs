//! Several documents in one YAML text: one that cannot be read hurts only itself.

use super::{DocumentNode, Documents, Unreadable, documents, yaml};

/// The documents of a text that is JSON or, if it is not, YAML; and why others cannot be read.
#[must_use]
pub fn each_document(text: &str) -> Documents {
    let error = match documents(text) {
        Ok(read) => return Documents { read, unreadable: Vec::new() },
        Err(error) => error,
    };
    let pieces = pieces(text);
    if pieces.len() == 1 {
        return Documents { read: Vec::new(), unreadable: vec![error] };
    }
    let mut each = Documents { read: Vec::new(), unreadable: Vec::new() };
    // What aliases may stand for is bounded for all of them together.
    let mut aliased = 0;
    for (start, piece) in pieces {
        match yaml::documents_within(piece, &mut aliased) {
            Ok(read) => each.read.extend(read.into_iter().map(|node| shifted(node, start))),
            Err(Unreadable { span, message }) => {
                each.unreadable.push(Unreadable { span: span.start + start..span.end + start, message });
            }
        }
    }
    each
}

/// The text cut before each line that separates documents, each part with where it starts. Such a line ends a document
/// whatever stands before it, even inside quotes.
fn pieces(text: &str) -> Vec<(usize, &str)> {
    let mut pieces = Vec::new();
    let (mut start, mut at, mut has_content) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        let separates = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        // Comments and directives stand before the line that they belong to.
        if separates && has_content {
            pieces.push((start, &text[start..at]));
            (start, has_content) = (at, false);
        }
        let bare = line.trim();
        has_content |= separates || !(bare.is_empty() || bare.starts_with(['#', '%']));
        at += line.len();
    }
    pieces.push((start, &text[start..]));
    pieces
}

/// The node with the places that it has in the whole text.
fn shifted(mut node: DocumentNode, by: usize) -> DocumentNode {
    node.shift(by);
    node
}
