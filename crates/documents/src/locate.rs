//! Finds the bytes that a path in a document refers to.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use pullwright_findings::{DocPath, Step};

use super::{DocumentNode, Member, NodeContent};

/// The part of a text that a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedPath {
    /// The position of the name, if the last step of the path is a name and the document contains it.
    pub name: Option<Range<usize>>,
    /// The position of the value.
    pub value: Range<usize>,
    /// Whether the value is a leaf, in which case messages should point to the value itself.
    pub leaf: bool,
    /// The number of steps of the path that exist. The rest is missing or inside a leaf.
    pub found: usize,
}

impl LocatedPath {
    /// Returns what to point at if something is wrong with the value.
    #[must_use]
    pub fn of_value(&self) -> Range<usize> {
        match &self.name {
            // A map or list spans several lines, and its name identifies it.
            Some(name) if !self.leaf || self.value.is_empty() => name.clone(),
            _ => self.value.clone(),
        }
    }

    /// Returns what to point at if something is wrong with the name.
    #[must_use]
    pub fn of_name(&self) -> Range<usize> {
        self.name.clone().unwrap_or_else(|| self.value.clone())
    }
}

/// Finds paths in one document. There may be a path for every name in a map, so the names of a large map are indexed
/// when the first path enters it.
pub struct Locator<'d> {
    document: &'d DocumentNode,
    large: RefCell<HashMap<*const DocumentNode, Names<'d>>>,
}

/// Below this size, comparing every name is cheaper than an index.
const LARGE: usize = 16;

impl<'d> Locator<'d> {
    /// Creates a locator. It does no work before the first path.
    #[must_use]
    pub fn new(document: &'d DocumentNode) -> Self {
        Self { document, large: RefCell::default() }
    }

    /// Follows a path as far as it exists. Names match exactly or else in any case, as in Go's decoders.
    #[must_use]
    pub fn locate(&self, path: &DocPath) -> LocatedPath {
        let mut node = self.document;
        let mut name = None;
        let mut found = 0;
        for step in path.steps() {
            let below = match step {
                Step::Index(index) => node.items().get(*index).map(|item| (None, item)),
                Step::Key(key) => {
                    self.member(node, key).map(|member| (Some(member.name_span.clone()), &member.node))
                }
            };
            let Some((below_name, below)) = below else { break };
            (name, node) = (below_name, below);
            found += 1;
        }
        LocatedPath {
            name,
            value: node.span.clone(),
            leaf: matches!(node.content, NodeContent::Leaf(_)),
            found,
        }
    }

    fn member(&self, node: &'d DocumentNode, key: &str) -> Option<&'d Member> {
        let members = node.members();
        if members.len() < LARGE {
            let exact = members.iter().rfind(|member| member.name == key);
            return exact.or_else(|| members.iter().rfind(|member| member.name.eq_ignore_ascii_case(key)));
        }
        let mut large = self.large.borrow_mut();
        large.entry(std::ptr::from_ref(node)).or_insert_with(|| Names::of(members)).find(key)
    }
}

/// The members of a map by name. If a name is repeated, the last one counts.
struct Names<'d> {
    exact: HashMap<&'d str, &'d Member>,
    folded: HashMap<String, &'d Member>,
}

impl<'d> Names<'d> {
    fn of(members: &'d [Member]) -> Self {
        let exact = members.iter().map(|member| (member.name.as_str(), member));
        let folded = members.iter().map(|member| (member.name.to_ascii_lowercase(), member));
        Self { exact: exact.collect(), folded: folded.collect() }
    }

    fn find(&self, key: &str) -> Option<&'d Member> {
        let folded = || self.folded.get(&key.to_ascii_lowercase());
        self.exact.get(key).or_else(folded).copied()
    }
}

/// Appends the steps of another path.
#[must_use]
pub fn extended(path: DocPath, steps: &[Step]) -> DocPath {
    steps.iter().fold(path, |path, step| match step {
        Step::Key(key) => path.key(key),
        Step::Index(index) => path.index(*index),
    })
}
