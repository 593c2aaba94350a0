//! The tree that every format becomes: maps, lists, and leaves, each with its bytes in the text.

use std::ops::Range;

use serde_json::{Map, Value};

/// A value and its position.
///
/// It has no `Debug`, because it may contain a password.
#[derive(Clone)]
pub struct DocumentNode {
    /// The bytes of the value in the text.
    pub span: Range<usize>,
    /// The value.
    pub content: NodeContent,
}

/// The content of a [`DocumentNode`].
#[derive(Clone)]
pub enum NodeContent {
    /// A string, number, boolean, or null.
    Leaf(Value),
    /// Items in order.
    List(Vec<DocumentNode>),
    /// Members as written. A name can occur twice.
    Map(Vec<Member>),
}

/// A member of a map.
#[derive(Clone)]
pub struct Member {
    /// The name.
    pub name: String,
    /// The position of the name.
    pub name_span: Range<usize>,
    /// The value.
    pub node: DocumentNode,
}

impl DocumentNode {
    /// Moves the node and everything in it forward by `by` bytes.
    pub(super) fn shift(&mut self, by: usize) {
        let on = |span: &mut Range<usize>| *span = span.start + by..span.end + by;
        on(&mut self.span);
        match &mut self.content {
            NodeContent::Leaf(_) => {}
            NodeContent::List(items) => items.iter_mut().for_each(|item| item.shift(by)),
            NodeContent::Map(members) => {
                for member in members {
                    on(&mut member.name_span);
                    member.node.shift(by);
                }
            }
        }
    }

    /// Returns the value of the first member with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&DocumentNode> {
        self.members().iter().find(|member| member.name == name).map(|member| &member.node)
    }

    /// Returns the members of a map. Empty for any other value.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        if let NodeContent::Map(members) = &self.content { members } else { &[] }
    }

    /// Returns the items of a list. Empty for any other value.
    #[must_use]
    pub fn items(&self) -> &[DocumentNode] {
        if let NodeContent::List(items) = &self.content { items } else { &[] }
    }

    /// Returns the text of a string leaf.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let NodeContent::Leaf(Value::String(text)) = &self.content { Some(text) } else { None }
    }

    /// Returns the value without positions. If a name occurs twice, the last one counts, as in Go. Members merged by
    /// `<<` have the lowest precedence.
    #[must_use]
    pub fn value(&self) -> Value {
        match &self.content {
            NodeContent::Leaf(value) => value.clone(),
            NodeContent::List(items) => items.iter().map(Self::value).collect(),
            NodeContent::Map(members) => {
                let mut map = Map::new();
                for member in members.iter().filter(|member| member.name == "<<") {
                    merge(&mut map, &member.node);
                }
                for member in members.iter().filter(|member| member.name != "<<") {
                    map.insert(member.name.clone(), member.node.value());
                }
                Value::Object(map)
            }
        }
    }

    /// Returns the positions of names that occurred earlier in the same map, at any depth.
    #[must_use]
    pub fn repeated_names(&self) -> Vec<Range<usize>> {
        let mut repeated = Vec::new();
        let mut waiting = vec![self];
        while let Some(node) = waiting.pop() {
            let mut seen = std::collections::HashSet::new();
            for member in node.members() {
                if !seen.insert(member.name.as_str()) {
                    repeated.push(member.name_span.clone());
                }
                waiting.push(&member.node);
            }
            waiting.extend(node.items());
        }
        repeated
    }
}

/// Adds what a YAML merge key merges: one map, or several of which the first takes precedence.
fn merge(map: &mut Map<String, Value>, brought: &DocumentNode) {
    let several = if brought.items().is_empty() { std::slice::from_ref(brought) } else { brought.items() };
    for one in several {
        if let Value::Object(members) = one.value() {
            for (name, value) in members {
                map.entry(name).or_insert(value);
            }
        }
    }
}
