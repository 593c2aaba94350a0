//! From a path in a document to the bytes that it stands for.

use std::ops::Range;

use pullwright_engine::finding::{DocPath, Step};

use super::{Content, Node};

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name, where the path's last step is one and it is written in the document.
    pub name: Option<Range<usize>>,
    /// The value.
    pub value: Range<usize>,
    /// Whether the value is a leaf, and so best shown itself.
    pub leaf: bool,
    /// How many steps of the path are there; the rest is missing, or inside of a leaf.
    pub found: usize,
}

impl Place {
    /// What to point at when something is wrong with the value.
    #[must_use]
    pub fn of_value(&self) -> Range<usize> {
        match &self.name {
            // A map or list spans lines; its name says which it is.
            Some(name) if !self.leaf || self.value.is_empty() => name.clone(),
            _ => self.value.clone(),
        }
    }

    /// What to point at when something is wrong with the name.
    #[must_use]
    pub fn of_name(&self) -> Range<usize> {
        self.name.clone().unwrap_or_else(|| self.value.clone())
    }
}

/// Follows a path as far as it goes. Names match exactly, or else in any case, as Go's decoders match them.
#[must_use]
pub fn locate(document: &Node, path: &DocPath) -> Place {
    let mut node = document;
    let mut name = None;
    let mut found = 0;
    for step in path.steps() {
        let below = match step {
            Step::Index(index) => node.items().get(*index).map(|item| (None, item)),
            Step::Key(key) => member(node, key),
        };
        let Some((below_name, below)) = below else { break };
        (name, node) = (below_name, below);
        found += 1;
    }
    Place { name, value: node.span.clone(), leaf: matches!(node.content, Content::Leaf(_)), found }
}

fn member<'a>(node: &'a Node, key: &str) -> Option<(Option<Range<usize>>, &'a Node)> {
    let exact = node.members().iter().rfind(|member| member.name == key);
    let folded = || node.members().iter().rfind(|member| member.name.eq_ignore_ascii_case(key));
    exact.or_else(folded).map(|member| (Some(member.name_span.clone()), &member.node))
}

/// A path continued by steps of another.
#[must_use]
pub fn extended(path: DocPath, steps: &[Step]) -> DocPath {
    steps.iter().fold(path, |path, step| match step {
        Step::Key(key) => path.key(key),
        Step::Index(index) => path.index(*index),
    })
}
