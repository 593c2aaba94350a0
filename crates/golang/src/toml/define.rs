//! What a TOML text may define twice, by the rules of the Go decoder, which differ slightly from the specification.
//!
//! For each *path of keys* (shared by the items of a `[[list]]`), the decoder remembers whether its table was only
//! implied by something below it. An implied table may be defined once more, after which it is no longer implied. A
//! dotted key implies its tables again each time, so `a.b = 1` may be followed by `[a]`, although TOML forbids it, but
//! two such keys may not. A key with a list may be redefined while its path is implied.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::{MAX_DEPTH, ROOT, TomlContent, TomlEntry, TomlNode};

/// A key and its position.
#[derive(Debug, Clone)]
pub(super) struct Key<'t> {
    pub(super) name: Cow<'t, str>,
    pub(super) span: Range<usize>,
}

/// Where keys are defined: a path, and the table that it currently leads to. The table is `None` if the value there is
/// not a table, which is an error only if something is defined in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TablePlace {
    path: usize,
    table: Option<usize>,
}

impl TablePlace {
    pub(super) const ROOT: Self = Self { path: ROOT, table: Some(ROOT) };
}

/// What is remembered about a path of keys.
#[derive(Debug, Default)]
struct Path<'t> {
    depth: u32,
    implied: bool,
    /// Whether the last value assigned to it was a list.
    list: bool,
    below: BTreeMap<Cow<'t, str>, usize>,
}

/// Why something cannot be defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Objection {
    Defined,
    NoList,
    Depth,
}

impl Objection {
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Defined => "duplicate key",
            Self::NoList => "duplicate key: it is no list of tables that could be added to",
            Self::Depth => "nested too deeply",
        }
    }
}

/// The tree as defined so far.
#[derive(Debug)]
pub(super) struct Definitions<'t> {
    pub(super) nodes: Vec<TomlNode<'t>>,
    paths: Vec<Path<'t>>,
}

type Defined<T> = Result<T, Objection>;

impl<'t> Definitions<'t> {
    pub(super) fn new() -> Self {
        Self { nodes: vec![empty_table(0..0)], paths: vec![Path::default()] }
    }

    pub(super) fn add(&mut self, span: Range<usize>, content: TomlContent<'t>) -> usize {
        self.nodes.push(TomlNode { span, content });
        self.nodes.len() - 1
    }

    /// Sets the end of an inline table.
    pub(super) fn end_at(&mut self, table: usize, end: usize) {
        self.nodes[table].span.end = end;
    }

    fn add_table(&mut self, span: Range<usize>) -> usize {
        self.nodes.push(empty_table(span));
        self.nodes.len() - 1
    }

    /// Defines `[a.b]`.
    pub(super) fn header(&mut self, keys: &[Key<'t>], span: Range<usize>) -> Defined<TablePlace> {
        let Some((last, parents)) = keys.split_last() else { return Ok(TablePlace::ROOT) };
        let parent = self.parents(parents)?;
        let table = self.add_table(span.clone());
        self.set(parent, last, table)?;
        let place = self.inside(parent, last)?;
        if let Some(table) = place.table {
            self.nodes[table].span = span;
        }
        self.paths[place.path].list = false;
        Ok(place)
    }

    /// Defines `[[a.b]]`.
    pub(super) fn list_header(&mut self, keys: &[Key<'t>], span: Range<usize>) -> Defined<TablePlace> {
        let Some((last, parents)) = keys.split_last() else { return Ok(TablePlace::ROOT) };
        let parent = self.parents(parents)?;
        let place = self.append(parent, last, span)?;
        self.paths[place.path].list = false;
        Ok(place)
    }

    /// Enters the `a` of `a.b = …`.
    pub(super) fn enter(&mut self, place: TablePlace, key: &Key<'t>) -> Defined<TablePlace> {
        let path = self.path(place, key)?;
        self.paths[path].implied = true;
        let table = self.add_table(key.span.clone());
        self.set(place, key, table)?;
        self.inside(place, key)
    }

    /// The same within an inline table, where a key that has a list cannot be redefined.
    pub(super) fn enter_inline(&mut self, place: TablePlace, key: &Key<'t>) -> Defined<TablePlace> {
        if let Some(entry) = self.entry(place, &key.name)?
            && !matches!(self.nodes[entry.node].content, TomlContent::Table(_))
        {
            return Err(Objection::Defined);
        }
        self.enter(place, key)
    }

    /// Opens a `{` after `key =`.
    pub(super) fn inline(
        &mut self,
        place: TablePlace,
        key: &Key<'t>,
        span: Range<usize>,
    ) -> Defined<(TablePlace, usize)> {
        let path = self.path(place, key)?;
        self.paths[path].implied = true;
        let table = self.add_table(span);
        self.set(place, key, table)?;
        let place = self.inside(place, key)?;
        Ok((place, place.table.ok_or(Objection::Defined)?))
    }

    /// Opens a `{` in a list after `key =`. Until the list is closed, its tables are stored where those of `[[key]]`
    /// would be.
    pub(super) fn inline_item(
        &mut self,
        place: TablePlace,
        key: &Key<'t>,
        span: Range<usize>,
    ) -> Defined<(TablePlace, usize)> {
        let path = self.path(place, key)?;
        self.paths[path].implied = true;
        let place = self.append(place, key, span)?;
        Ok((place, place.table.ok_or(Objection::Defined)?))
    }

    /// Assigns a value to a key.
    pub(super) fn set(&mut self, place: TablePlace, key: &Key<'t>, node: usize) -> Defined<()> {
        let path = self.path(place, key)?;
        let path = &mut self.paths[path];
        let Some(table) = place.table else { return Err(Objection::Defined) };
        let TomlContent::Table(entries) = &mut self.nodes[table].content else {
            return Err(Objection::Defined);
        };
        match entries.get_mut(&key.name) {
            None => {
                entries.insert(key.name.clone(), TomlEntry { key: key.span.clone(), node });
            }
            Some(_) if !path.implied => return Err(Objection::Defined),
            Some(entry) => {
                path.implied = false;
                if path.list {
                    entry.node = node;
                }
            }
        }
        Ok(())
    }

    /// Remembers whether the value of a key is a list. For an empty key, Go's decoder mistakenly records it for the
    /// enclosing table.
    pub(super) fn remember_list(&mut self, place: TablePlace, key: &Key<'t>, list: bool) -> Defined<()> {
        let path =
            if key.name.is_empty() && place.path != ROOT { place.path } else { self.path(place, key)? };
        self.paths[path].list = list;
        Ok(())
    }

    /// Returns the table above that of a header. Missing tables on the way are implied.
    fn parents(&mut self, keys: &[Key<'t>]) -> Defined<TablePlace> {
        let mut place = TablePlace::ROOT;
        for key in keys {
            if self.entry(place, &key.name)?.is_none() {
                let path = self.path(place, key)?;
                self.paths[path].implied = true;
                let table = self.add_table(key.span.clone());
                self.set(place, key, table)?;
            }
            place = self.inside(place, key)?;
        }
        Ok(place)
    }

    /// Appends a table to the list of tables of a key.
    fn append(&mut self, place: TablePlace, key: &Key<'t>, span: Range<usize>) -> Defined<TablePlace> {
        let list = if let Some(entry) = self.entry(place, &key.name)? {
            entry.node
        } else {
            let list = self.add(span.clone(), TomlContent::Tables(Vec::new()));
            self.set(place, key, list)?;
            list
        };
        let table = self.add_table(span);
        let TomlContent::Tables(items) = &mut self.nodes[list].content else { return Err(Objection::NoList) };
        items.push(table);
        Ok(TablePlace { path: self.path(place, key)?, table: Some(table) })
    }

    /// Returns what a key leads to: its table, or the last table of its list.
    fn inside(&mut self, place: TablePlace, key: &Key<'t>) -> Defined<TablePlace> {
        let table =
            match self.entry(place, &key.name)?.map(|entry| (entry.node, &self.nodes[entry.node].content)) {
                Some((node, TomlContent::Table(_))) => Some(node),
                Some((_, TomlContent::Tables(items))) => items.last().copied(),
                _ => None,
            };
        Ok(TablePlace { path: self.path(place, key)?, table })
    }

    fn entry(&self, place: TablePlace, name: &str) -> Defined<Option<&TomlEntry>> {
        match place.table.map(|table| &self.nodes[table].content) {
            Some(TomlContent::Table(entries)) => Ok(entries.get(name)),
            _ => Err(Objection::Defined),
        }
    }

    fn path(&mut self, place: TablePlace, key: &Key<'t>) -> Defined<usize> {
        let next = self.paths.len();
        let above = &mut self.paths[place.path];
        if let Some(&path) = above.below.get(&key.name) {
            return Ok(path);
        }
        let depth = above.depth + 1;
        if depth > MAX_DEPTH {
            return Err(Objection::Depth);
        }
        above.below.insert(key.name.clone(), next);
        self.paths.push(Path { depth, ..Path::default() });
        Ok(next)
    }
}

fn empty_table<'t>(span: Range<usize>) -> TomlNode<'t> {
    TomlNode { span, content: TomlContent::Table(BTreeMap::new()) }
}
