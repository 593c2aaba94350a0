//! What a text of TOML may say twice, by the rules of the Go decoder, which are not quite those of the specification.
//!
//! The decoder remembers for each *path of keys* (the items of a `[[list]]` share one) whether its table was only implied
//! by something below it. An implied table may be defined once more; defining it ends that. A dotted key implies its tables
//! again each time, so `a.b = 1` may be followed by `[a]`, though TOML forbids it, and two such keys may not. A key that was
//! given a list may be given something else while its path is implied.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::{MAX_DEPTH, ROOT, TomlContent, TomlEntry, TomlNode};

/// A key where it stands.
#[derive(Debug, Clone)]
pub(super) struct Key<'t> {
    pub(super) name: Cow<'t, str>,
    pub(super) span: Range<usize>,
}

/// Where keys are defined: a path, and the table that it leads to now. None if what stands there is no table, which hurts
/// only who defines something in it.
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
    /// Whether the last value given to it was a list.
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

/// The tree as far as it is defined.
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

    /// Says where an inline table ends.
    pub(super) fn end_at(&mut self, table: usize, end: usize) {
        self.nodes[table].span.end = end;
    }

    fn add_table(&mut self, span: Range<usize>) -> usize {
        self.nodes.push(empty_table(span));
        self.nodes.len() - 1
    }

    /// `[a.b]`
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

    /// `[[a.b]]`
    pub(super) fn list_header(&mut self, keys: &[Key<'t>], span: Range<usize>) -> Defined<TablePlace> {
        let Some((last, parents)) = keys.split_last() else { return Ok(TablePlace::ROOT) };
        let parent = self.parents(parents)?;
        let place = self.append(parent, last, span)?;
        self.paths[place.path].list = false;
        Ok(place)
    }

    /// The `a` of `a.b = …`
    pub(super) fn enter(&mut self, place: TablePlace, key: &Key<'t>) -> Defined<TablePlace> {
        let path = self.path(place, key)?;
        self.paths[path].implied = true;
        let table = self.add_table(key.span.clone());
        self.set(place, key, table)?;
        self.inside(place, key)
    }

    /// The same within an inline table, where a key that was given a list stays that.
    pub(super) fn enter_inline(&mut self, place: TablePlace, key: &Key<'t>) -> Defined<TablePlace> {
        if let Some(entry) = self.entry(place, &key.name)?
            && !matches!(self.nodes[entry.node].content, TomlContent::Table(_))
        {
            return Err(Objection::Defined);
        }
        self.enter(place, key)
    }

    /// `{` behind `key =`
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

    /// `{` in a list behind `key =`. Until the list is closed, its tables stand where those of `[[key]]` would.
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

    /// Gives a key its value.
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

    /// Remembers whether a key's value is a list; for a key without a name, by mistake, of the table around it.
    pub(super) fn remember_list(&mut self, place: TablePlace, key: &Key<'t>, list: bool) -> Defined<()> {
        let path =
            if key.name.is_empty() && place.path != ROOT { place.path } else { self.path(place, key)? };
        self.paths[path].list = list;
        Ok(())
    }

    /// The tables above that of a header, implied where they are not there.
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

    /// Adds a table to the list of tables behind a key.
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

    /// What a key leads to: its table, or the last of its list of tables.
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
