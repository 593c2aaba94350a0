//! The tree that every format becomes: maps, lists and leaves, each with the bytes that it was written with.

use std::ops::Range;

use serde_json::{Map, Value};

/// A value and where it stands.
///
/// It may hold a password, so it has no `Debug`.
#[derive(Clone)]
pub struct DocumentNode {
    /// The bytes of the text that it was written with.
    pub span: Range<usize>,
    /// The value.
    pub content: NodeContent,
}

/// What a [`DocumentNode`] is.
#[derive(Clone)]
pub enum NodeContent {
    /// Text, number, boolean or nothing.
    Leaf(Value),
    /// Items in order.
    List(Vec<DocumentNode>),
    /// As written: a name may be there twice.
    Map(Vec<Member>),
}

/// A name of a map with its value.
#[derive(Clone)]
pub struct Member {
    /// The name.
    pub name: String,
    /// Where the name stands.
    pub name_span: Range<usize>,
    /// The value.
    pub node: DocumentNode,
}

impl DocumentNode {
    /// Moves it and everything in it on by so many bytes.
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

    /// The value of the first member of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&DocumentNode> {
        self.members().iter().find(|member| member.name == name).map(|member| &member.node)
    }

    /// The members of a map; none of anything else.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        if let NodeContent::Map(members) = &self.content { members } else { &[] }
    }

    /// The items of a list; none of anything else.
    #[must_use]
    pub fn items(&self) -> &[DocumentNode] {
        if let NodeContent::List(items) = &self.content { items } else { &[] }
    }

    /// The text of a leaf that is text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let NodeContent::Leaf(Value::String(text)) = &self.content { Some(text) } else { None }
    }

    /// The value without its places. Of a name that is there twice the last one counts, as for Go; what `<<` brings
    /// counts least.
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

    /// The places of names that their map had before, all the way down.
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

/// What a YAML merge key brings: a map, or several of which the first counts most.
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
