//! Every order in which the Go decoder may fill the fields that a `registries.conf` names twice, in letters of different case.
//!
//! The decoder goes through a table in the random order of a map, and fills what it already has: texts are those of the last
//! spelling, the items of lists are filled one by one, into a list that keeps the room it once had. This says it a second
//! time, apart from the engine: each order becomes a text in which nothing is named twice.

use std::collections::BTreeMap;
use std::fmt::Write;

use pullwright_golang::json::names_field;
use pullwright_golang::toml::{Document, Value};

/// More orders of one text than this are not made.
const MOST: usize = 2_000;

enum Shape {
    Leaf,
    Map,
    Struct(&'static [Field]),
    List(&'static [Field]),
}

type Field = (&'static str, Shape);

const TOP: &[Field] = &[
    ("registry", Shape::List(REGISTRY)),
    ("unqualified-search-registries", Shape::Leaf),
    ("credential-helpers", Shape::Leaf),
    ("short-name-mode", Shape::Leaf),
    ("additional-layer-store-auth-helper", Shape::Leaf),
    ("aliases", Shape::Map),
    ("registries", Shape::Struct(VERSION1)),
];
const REGISTRY: &[Field] = &[
    ("prefix", Shape::Leaf),
    ("location", Shape::Leaf),
    ("insecure", Shape::Leaf),
    ("pull-from-mirror", Shape::Leaf),
    ("namespace-proxy", Shape::Leaf),
    ("mirror", Shape::List(MIRROR)),
    ("blocked", Shape::Leaf),
    ("mirror-by-digest-only", Shape::Leaf),
];
const MIRROR: &[Field] = &[
    ("location", Shape::Leaf),
    ("insecure", Shape::Leaf),
    ("pull-from-mirror", Shape::Leaf),
    ("namespace-proxy", Shape::Leaf),
];
const VERSION1: &[Field] = &[
    ("search", Shape::Struct(VERSION1_LIST)),
    ("insecure", Shape::Struct(VERSION1_LIST)),
    ("block", Shape::Struct(VERSION1_LIST)),
];
const VERSION1_LIST: &[Field] = &[("registries", Shape::Leaf)];

/// The text in each of its orders; itself if it has one.
#[must_use]
pub fn orders(text: &str) -> Vec<String> {
    let Ok(document) = Document::parse(text) else { return vec![text.to_owned()] };
    let mut chance = Chance::default();
    let mut orders = Vec::new();
    loop {
        let mut filled = Filled::new();
        Filler { text, chance: &mut chance }.fill(&mut filled, document.root(), TOP);
        if chance.taken.is_empty() {
            return vec![text.to_owned()];
        }
        orders.push(top_level(&filled));
        if !chance.goes_on() || orders.len() == MOST {
            return orders;
        }
    }
}

/// What chance decided, choice by choice, and of how many.
#[derive(Default)]
struct Chance {
    taken: Vec<(usize, usize)>,
    next: usize,
}

impl Chance {
    fn choose(&mut self, of: usize) -> usize {
        if self.next == self.taken.len() {
            self.taken.push((0, of));
        }
        self.next += 1;
        self.taken[self.next - 1].0
    }

    /// Goes on to the next run of choices, if there is one.
    fn goes_on(&mut self) -> bool {
        self.next = 0;
        while let Some((choice, of)) = self.taken.pop() {
            if choice + 1 < of {
                self.taken.push((choice + 1, of));
                return true;
            }
        }
        false
    }
}

type Filled = BTreeMap<&'static str, Content>;

enum Content {
    /// As it is written.
    Leaf(String),
    /// By name: the key and the value as they are written.
    Map(BTreeMap<String, (String, String)>),
    Struct(Filled),
    /// All items that there is room for, and how many of them count.
    List(Vec<Filled>, usize),
}

struct Filler<'a> {
    text: &'a str,
    chance: &'a mut Chance,
}

impl Filler<'_> {
    /// What is of the wrong type is left out: it is refused in every order.
    fn fill(&mut self, filled: &mut Filled, table: Value<'_, '_>, fields: &'static [Field]) {
        let Some(table) = table.table() else { return };
        for (name, shape) in fields {
            let named = |key: &str| {
                fields.iter().all(|(other, _)| key != *other || other == name) && names_field(key, name)
            };
            let mut spelled: Vec<_> =
                table.entries().filter(|(key, ..)| named(key)).map(|(_, _, value)| value).collect();
            while spelled.len() > 1 {
                let chosen = self.chance.choose(spelled.len());
                let value = spelled.remove(chosen);
                self.fill_field(filled, name, shape, value);
            }
            if let Some(value) = spelled.pop() {
                self.fill_field(filled, name, shape, value);
            }
        }
    }

    fn fill_field(
        &mut self,
        filled: &mut Filled,
        name: &'static str,
        shape: &'static Shape,
        value: Value<'_, '_>,
    ) {
        let written = |value: Value<'_, '_>| self.text[value.span()].to_owned();
        match shape {
            Shape::Leaf => {
                filled.insert(name, Content::Leaf(written(value)));
            }
            Shape::Map => {
                let Some(table) = value.table() else { return };
                let content = filled.entry(name).or_insert_with(|| Content::Map(BTreeMap::new()));
                let Content::Map(map) = content else { return };
                for (key, span, value) in table.entries() {
                    map.insert(key.to_owned(), (self.text[span].to_owned(), written(value)));
                }
            }
            Shape::Struct(fields) => {
                let content = filled.entry(name).or_insert_with(|| Content::Struct(Filled::new()));
                let Content::Struct(below) = content else { return };
                self.fill(below, value, fields);
            }
            Shape::List(fields) => {
                let Some(items) = value.items() else { return };
                let content = filled.entry(name).or_insert_with(|| Content::List(Vec::new(), 0));
                let Content::List(room, length) = content else { return };
                *length = items.len();
                if *length > room.len() {
                    *room = (0..*length).map(|_| Filled::new()).collect();
                }
                for (item, value) in room.iter_mut().zip(items) {
                    self.fill(item, value, fields);
                }
            }
        }
    }
}

fn top_level(filled: &Filled) -> String {
    let mut out = String::new();
    for (name, content) in filled {
        let _ = writeln!(out, "{name} = {}", written(content));
    }
    out
}

fn written(content: &Content) -> String {
    match content {
        Content::Leaf(text) => text.clone(),
        Content::Map(map) => {
            let pairs: Vec<_> = map.values().map(|(key, value)| format!("{key} = {value}")).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Content::Struct(filled) => inline(filled),
        Content::List(room, length) => {
            let items: Vec<_> = room.iter().take(*length).map(inline).collect();
            format!("[ {} ]", items.join(", "))
        }
    }
}

fn inline(filled: &Filled) -> String {
    let pairs: Vec<_> =
        filled.iter().map(|(name, content)| format!("{name} = {}", written(content))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_second_spellings_has_one_order() {
        for text in ["", "x = 1\nX = 2\n", "[aliases]\na = 'x'\nA = 'y'\n", "not toml"] {
            assert_eq!(orders(text), [text]);
        }
    }

    #[test]
    fn each_order_is_made_once() {
        let text = "short-name-mode = 'a'\nShort-Name-Mode = 'b'\nSHORT-NAME-MODE = 'c'\n";
        let mut made = orders(text);
        assert_eq!(made.len(), 6, "three spellings");
        made.sort();
        made.dedup();
        assert_eq!(made, ["short-name-mode = 'a'\n", "short-name-mode = 'b'\n", "short-name-mode = 'c'\n"]);
    }

    #[test]
    fn the_items_of_lists_are_filled_one_by_one() {
        let text = "[[registry]]\nlocation = 'a'\n[[Registry]]\nprefix = 'b'\nlocation = 'c'\n[[Registry]]\n";
        let mut made = orders(text);
        made.sort();
        let both = "registry = [ { location = 'a', prefix = 'b' } ]\n";
        let longer = "registry = [ { location = 'c', prefix = 'b' }, {  } ]\n";
        assert_eq!(made, [both, longer]);
    }
}
