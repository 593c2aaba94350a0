//! The text of a file with the position of everything in it, so that messages can point to a line and column.
//!
//! TOML, JSON, and YAML become the same tree of [`DocumentNode`]s, in which one function finds a path.

mod json;
mod locate;
mod node;
mod pieces;
mod position;
#[cfg(test)]
mod tests;
mod toml;
mod yaml;

pub use json::document as json_document;
pub use locate::{LocatedPath, Locator, extended};
pub use node::{DocumentNode, Member, NodeContent};
pub use pieces::each_document;
pub use position::{Position, Text};
pub use toml::{document as toml_document, go_document as go_toml_document};
pub use yaml::documents as yaml_documents;

use std::ops::Range;

/// Why a text is not in its format. It gives the position but never the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where parsing stopped.
    pub span: Range<usize>,
    /// The reason, without the text itself.
    pub message: String,
}

/// The readable documents of a text, and the errors of the others.
pub struct Documents {
    /// The documents, in the order of the text.
    pub read: Vec<DocumentNode>,
    /// The errors, in the order of the text.
    pub unreadable: Vec<Unreadable>,
}

/// Parses the documents of a text as JSON or, if that fails, as YAML.
///
/// # Errors
/// If the text is in neither format.
pub fn documents(text: &str) -> Result<Vec<DocumentNode>, Unreadable> {
    match json_document(text) {
        Ok(document) => Ok(vec![document]),
        // A text that starts like JSON was most likely meant to be JSON, so report that error.
        Err(error) if text.trim_start().starts_with('{') => yaml_documents(text).map_err(|_| error),
        Err(_) => yaml_documents(text),
    }
}
