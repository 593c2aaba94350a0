//! The JSON documents that hold credentials, read with Go's types and written back without loss.

use std::borrow::Cow;
use std::collections::BTreeMap;

use thiserror::Error;

use super::entry::{AuthEntry, Field};
use super::sensitive::Sensitive;
use pullwright_findings::DocPath;
use pullwright_golang::json::{JsonKind, RawValue, SyntaxError, names_field};

/// The layout of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `{"auths": {key: entry}, "credHelpers": {host: helper}, …}`: `.dockerconfigjson`, `config.json`,
    /// `auth.json`.
    Auths,
    /// `{key: entry}`: `.dockercfg`.
    Legacy,
}

/// Why a document is refused as a whole. Whoever read the file adds its path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// Not JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// JSON of the wrong shape, which makes Go refuse the whole document.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
}

/// A value whose type differs from the one that its readers declare.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} is {} instead of {expected}", place(.at), .found.noun())]
pub struct Mismatch {
    /// Where the value is.
    pub at: DocPath,
    /// The type found.
    pub found: JsonKind,
    /// The type that the readers declare.
    pub expected: &'static str,
}

fn place(at: &DocPath) -> String {
    if at.steps().is_empty() { "the document".to_owned() } else { at.to_string() }
}

/// An auth document: entries by key, credential helpers by host, and everything else as written.
///
/// Parsing is tolerant, so that one bad entry of a Secret affects only itself. The runtime's readers refuse a document
/// with any [`Document::mismatches`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    format: Format,
    entries: BTreeMap<String, AuthEntry>,
    helpers: BTreeMap<String, String>,
    others: Vec<(String, Sensitive<Vec<u8>>)>,
    mismatches: Vec<Mismatch>,
}

impl Document {
    /// Returns an empty document.
    #[must_use]
    pub fn empty(format: Format) -> Self {
        Self {
            format,
            entries: BTreeMap::new(),
            helpers: BTreeMap::new(),
            others: Vec::new(),
            mismatches: Vec::new(),
        }
    }

    /// Parses a document as Go's decoder does: field names match in any case, the last of several equal keys wins, and
    /// `null` counts as absent.
    ///
    /// # Errors
    /// If the text is not JSON, or if the map of entries is not an object.
    pub fn parse(text: &[u8], format: Format) -> Result<Self, DocumentError> {
        let root = RawValue::parse(text)?;
        let mut document = Self::empty(format);
        match format {
            Format::Legacy => document.read_entries(root, DocPath::root)?,
            Format::Auths => document.read_root(root)?,
        }
        Ok(document)
    }

    /// Returns the keys of the entries, in byte order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Returns the credential helpers by host, in byte order.
    pub fn helpers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.helpers.iter().map(|(host, name)| (host.as_str(), name.as_str()))
    }

    /// Returns the values whose type differs from the runtime's declaration. The runtime refuses the whole document for
    /// them.
    #[must_use]
    pub fn mismatches(&self) -> &[Mismatch] {
        &self.mismatches
    }

    /// Renders the document as JSON: keys in byte order, each entry and each unknown field as it was written.
    #[must_use]
    pub fn render(&self) -> Sensitive<Vec<u8>> {
        let entries = || self.entries.iter().map(|(key, entry)| (key.as_str(), entry.raw()));
        let mut text = Vec::new();
        match self.format {
            Format::Legacy => push_object(&mut text, 0, entries()),
            Format::Auths => {
                let mut auths = Vec::new();
                push_object(&mut auths, 1, entries());
                let mut members = vec![("auths", auths)];
                if !self.helpers.is_empty() {
                    let mut helpers = Vec::new();
                    push_object(
                        &mut helpers,
                        1,
                        self.helpers.iter().map(|(host, name)| (host.as_str(), quoted(name))),
                    );
                    members.push(("credHelpers", helpers));
                }
                members.extend(self.others.iter().map(|(name, raw)| (name.as_str(), raw.expose().clone())));
                push_object(&mut text, 0, members.into_iter());
            }
        }
        text.push(b'\n');
        Sensitive::new(text)
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Returns the entry with exactly this key, and the document's own copy of the key.
    pub(super) fn entry_with_key(&self, key: &str) -> Option<(&str, &AuthEntry)> {
        self.entries.get_key_value(key).map(|(key, entry)| (key.as_str(), entry))
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &AuthEntry)> {
        self.entries.iter().map(|(key, entry)| (key.as_str(), entry))
    }

    pub(super) fn insert(&mut self, key: &str, entry: AuthEntry) {
        self.entries.insert(key.to_owned(), entry);
    }

    pub(super) fn helper(&self, host: &str) -> Option<&str> {
        self.helpers.get(host).map(String::as_str)
    }

    pub(super) fn remove_helper(&mut self, host: &str) -> Option<String> {
        self.helpers.remove(host)
    }

    /// Returns whether there is a member `name` that this module does not interpret.
    pub(super) fn has_other(&self, name: &str) -> bool {
        self.others.iter().any(|(other, _)| other == name)
    }

    fn read_root(&mut self, root: RawValue) -> Result<(), Mismatch> {
        expect_object(root, DocPath::root)?;
        for (name, value) in root.members() {
            let at = || DocPath::root().key(&*name);
            if names_field(&name, "auths") {
                self.read_entries(value, at)?;
            } else if names_field(&name, "credhelpers") {
                self.read_helpers(value, at);
            } else {
                self.others.push((name.into_owned(), Sensitive::new(value.bytes().to_vec())));
            }
        }
        Ok(())
    }

    /// Go adds to the existing map and clears it at a `null`. The path is only needed if something is wrong.
    fn read_entries(&mut self, map: RawValue, at: impl Fn() -> DocPath) -> Result<(), Mismatch> {
        expect_object(map, &at)?;
        if map.kind() == JsonKind::Null {
            self.entries.clear();
        }
        for (key, value) in map.members() {
            let entry = AuthEntry::read(value);
            let here = || at().key(super::scope::shown(&key));
            if let Some(found) = entry.mismatch {
                self.mismatches.push(Mismatch { at: here(), found, expected: "an object" });
            }
            for (name, field) in [("auth", &entry.auth), ("identitytoken", &entry.identity_token)] {
                if let Field::Mismatch(found) = *field {
                    self.mismatches.push(Mismatch { at: here().key(name), found, expected: "a string" });
                }
            }
            self.entries.insert(key.into_owned(), entry);
        }
        Ok(())
    }

    fn read_helpers(&mut self, map: RawValue, at: impl Fn() -> DocPath) {
        self.mismatches.extend(expect_object(map, &at).err());
        if map.kind() == JsonKind::Null {
            self.helpers.clear();
        }
        for (host, value) in map.members() {
            let name = value.text();
            if name.is_none() && value.kind() != JsonKind::Null {
                self.mismatches.push(Mismatch {
                    at: at().key(&*host),
                    found: value.kind(),
                    expected: "a string",
                });
            }
            self.helpers.insert(host.into_owned(), name.unwrap_or_default().into_owned());
        }
    }
}

/// Only the entries of a document, which is all that a Secret needs.
#[derive(Default)]
pub(super) struct Entries<'a> {
    /// The entries by key. If keys are equal, the last one counts.
    pub(super) by_key: BTreeMap<Cow<'a, str>, AuthEntry>,
    /// The number of entries that were not read.
    pub(super) left_out: usize,
    /// The number of entries that were read, including those with equal keys.
    read: usize,
}

impl<'a> Entries<'a> {
    /// Parses the first `most` entries of a document as [`Document::parse`] does.
    ///
    /// # Errors
    /// The same as [`Document::parse`].
    pub(super) fn parse(text: &'a [u8], format: Format, most: usize) -> Result<Self, DocumentError> {
        let root = RawValue::parse(text)?;
        let mut entries = Self::default();
        if format == Format::Legacy {
            entries.add(root, DocPath::root, most)?;
            return Ok(entries);
        }
        expect_object(root, DocPath::root)?;
        for (name, value) in root.members().filter(|(name, _)| names_field(name, "auths")) {
            entries.add(value, || DocPath::root().key(&*name), most)?;
        }
        Ok(entries)
    }

    fn add(&mut self, map: RawValue<'a>, at: impl Fn() -> DocPath, most: usize) -> Result<(), Mismatch> {
        expect_object(map, at)?;
        if map.kind() == JsonKind::Null {
            *self = Self::default();
        }
        for (key, value) in map.members() {
            if self.read == most {
                self.left_out += 1;
            } else {
                self.read += 1;
                self.by_key.insert(key, AuthEntry::without_text(value));
            }
        }
        Ok(())
    }
}

fn expect_object(value: RawValue, at: impl Fn() -> DocPath) -> Result<(), Mismatch> {
    match value.kind() {
        JsonKind::Object | JsonKind::Null => Ok(()),
        found => Err(Mismatch { at: at(), found, expected: "an object" }),
    }
}

fn push_object<'a>(
    text: &mut Vec<u8>,
    depth: usize,
    members: impl Iterator<Item = (&'a str, impl AsRef<[u8]>)>,
) {
    let mut empty = true;
    text.push(b'{');
    for (name, value) in members {
        text.extend_from_slice(if empty { b"\n" } else { b",\n" });
        empty = false;
        text.extend(std::iter::repeat_n(b'\t', depth + 1));
        text.extend_from_slice(&quoted(name));
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_ref());
    }
    if !empty {
        text.push(b'\n');
        text.extend(std::iter::repeat_n(b'\t', depth));
    }
    text.push(b'}');
}

/// Returns `value` as a JSON string.
pub(super) fn quoted(value: &str) -> Vec<u8> {
    // Serializing a string into memory cannot fail.
    serde_json::to_vec(value).unwrap_or_default()
}
