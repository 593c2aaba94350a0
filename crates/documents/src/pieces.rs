//! Several documents in one YAML text. An unreadable one affects only itself.

use super::{DocumentNode, Documents, Unreadable, documents, yaml};

/// Parses the documents of a text as JSON or, if that fails, as YAML, and reports why some cannot be read.
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
    // The limit on what aliases expand to applies to all documents together.
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

/// Splits the text before each line that separates documents, and returns each part with its start. Such a line ends a
/// document whatever comes before it, even inside quotes.
fn pieces(text: &str) -> Vec<(usize, &str)> {
    let mut pieces = Vec::new();
    let (mut start, mut at, mut has_content) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        let separates = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        // Comments and directives come before the separator line that they belong to.
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

/// Returns the node with its positions in the whole text.
fn shifted(mut node: DocumentNode, by: usize) -> DocumentNode {
    node.shift(by);
    node
}
