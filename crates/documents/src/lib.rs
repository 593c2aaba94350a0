//! A file's text with the place of everything in it, so that a message can point at a line and a column.
//!
//! TOML, JSON and YAML become the same tree of [`DocumentNode`]s, and one function finds a path in it.

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

/// Why a text is not of its format. It says where and never what stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where reading stopped.
    pub span: Range<usize>,
    /// Why, without the text itself.
    pub message: String,
}

/// The documents of a text that can be read, and what is wrong with the others.
pub struct Documents {
    /// The documents, in the order of the text.
    pub read: Vec<DocumentNode>,
    /// The errors, in the order of the text.
    pub unreadable: Vec<Unreadable>,
}

/// The documents of a text that is JSON or, if it is not, YAML.
///
/// # Errors
/// If the text is not of that format.
pub fn documents(text: &str) -> Result<Vec<DocumentNode>, Unreadable> {
    match json_document(text) {
        Ok(document) => Ok(vec![document]),
        // What begins like JSON was most likely meant to be JSON, so that is the error to tell.
        Err(error) if text.trim_start().starts_with('{') => yaml_documents(text).map_err(|_| error),
        Err(_) => yaml_documents(text),
    }
}
