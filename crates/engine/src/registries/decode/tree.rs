//! Decodes all of TOML. Keys match exactly or else case-insensitively, unknown keys are ignored and reported, and a
//! value of the wrong type refuses the file.
//!
//! Go fills a value that already exists. If a table spells a key twice in different case, Go fills the field twice, in
//! the random order of a map: the last string or boolean wins, and list items are merged one by one. Here the order is
//! always byte order, in which the exact spelling comes last, and a finding says that Go leaves the result to chance.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::super::problem::{ConfError, Problem, syntax};
use super::{RawConf, RawEndpoint, RawRegistry, Version1};
use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::json::names_field;
use pullwright_golang::toml::{Document, Fault, Table, Value};

/// Decodes `text` and adds what it ignores to `findings`.
pub(super) fn decode<'t>(text: &'t str, findings: &mut Vec<Finding>) -> Result<RawConf<'t>, ConfError> {
    let document = parse(text)?;
    let mut conf = RawConf::default();
    let mut decoder = Decoder { findings };
    decoder.fields(document.root(), TOP_LEVEL, TreePlace::ROOT, |decoder, name, value, place| {
        match name {
            "registry" => list(&mut conf.registries, value, place, |registry, item, place| {
                decoder.registry(registry, item, place)
            })?,
            "unqualified-search-registries" => conf.search = Some(strings(value, place)?),
            "credential-helpers" => conf.credential_helpers = Some(strings(value, place)?),
            "short-name-mode" => conf.short_name_mode = string(value, place)?,
            "additional-layer-store-auth-helper" => {
                conf.additional_layer_store_auth_helper = string(value, place)?;
            }
            "aliases" => decoder.aliases(value, place, &mut conf.aliases)?,
            _ => decoder.version1(value, place, &mut conf.version1)?,
        }
        Ok(())
    })?;
    Ok(conf)
}

/// Decodes a file that contains only aliases.
pub(super) fn decode_aliases(text: &str) -> Result<BTreeMap<String, Cow<'_, str>>, ConfError> {
    let document = parse(text)?;
    let mut aliases = BTreeMap::new();
    let mut decoder = Decoder { findings: &mut Vec::new() };
    decoder.fields(document.root(), ALIASES_ALONE, TreePlace::ROOT, |decoder, _, value, place| {
        decoder.aliases(value, place, &mut aliases)
    })?;
    Ok(aliases)
}

fn parse(text: &str) -> Result<Document<'_>, ConfError> {
    Document::parse(text).map_err(|refusal| match refusal.fault {
        Fault::OutOfRange(what) => {
            ConfError { at: DocPath::root(), span: refusal.span, problem: Problem::OutOfRange(what) }
        }
        fault => syntax(text, refusal.span.unwrap_or_default(), &fault.to_string()),
    })
}

const TOP_LEVEL: &[&str] = &[
    "registry",
    "unqualified-search-registries",
    "credential-helpers",
    "short-name-mode",
    "additional-layer-store-auth-helper",
    "aliases",
    "registries",
];
const REGISTRY: &[&str] = &[
    "prefix",
    "location",
    "insecure",
    "pull-from-mirror",
    "namespace-proxy",
    "mirror",
    "blocked",
    "mirror-by-digest-only",
];
const MIRROR: &[&str] = &["location", "insecure", "pull-from-mirror", "namespace-proxy"];
const VERSION1: &[&str] = &["search", "insecure", "block"];
const VERSION1_LIST: &[&str] = &["registries"];
const ALIASES_ALONE: &[&str] = &["aliases"];
/// No table has more fields than a registry.
const MOST_FIELDS: usize = REGISTRY.len();

struct Decoder<'f> {
    findings: &'f mut Vec<Finding>,
}

impl Decoder<'_> {
    fn registry<'t>(
        &mut self,
        registry: &mut RawRegistry<'t>,
        value: Value<'_, 't>,
        place: TreePlace<'_>,
    ) -> Result<(), ConfError> {
        self.fields(value, REGISTRY, place, |decoder, name, value, place| {
            match name {
                "prefix" => registry.prefix = string(value, place)?,
                "blocked" => registry.blocked = boolean(value, place)?,
                "mirror-by-digest-only" => registry.mirror_by_digest_only = boolean(value, place)?,
                "mirror" => list(&mut registry.mirrors, value, place, |mirror, item, place| {
                    decoder
                        .fields(item, MIRROR, place, |_, name, value, place| mirror.set(name, value, place))
                })?,
                _ => registry.endpoint.set(name, value, place)?,
            }
            Ok(())
        })
    }

    /// If the value is not a table, Go's decoder forgets to report an error, so the file has no aliases.
    fn aliases<'t>(
        &mut self,
        value: Value<'_, 't>,
        place: TreePlace<'_>,
        aliases: &mut BTreeMap<String, Cow<'t, str>>,
    ) -> Result<(), ConfError> {
        let Some(table) = value.table() else {
            let message =
                format!("{} instead of a table: its aliases are ignored", with_article(value.noun()));
            self.findings.push(Finding::new(&rules::registries::IGNORED_ALIASES, place.path(), message));
            return Ok(());
        };
        for (name, _, target) in table.entries() {
            aliases.insert(name.to_owned(), string(target, place.key(name))?);
        }
        Ok(())
    }

    fn version1<'t>(
        &mut self,
        value: Value<'_, 't>,
        place: TreePlace<'_>,
        version1: &mut Version1<'t>,
    ) -> Result<(), ConfError> {
        self.fields(value, VERSION1, place, |decoder, name, value, place| {
            let target = match name {
                "search" => &mut version1.search,
                "insecure" => &mut version1.insecure,
                _ => &mut version1.block,
            };
            decoder.fields(value, VERSION1_LIST, place, |_, _, value, place| {
                *target = Some(strings(value, place)?);
                Ok(())
            })
        })
    }

    /// Calls `set` for each table entry whose key is one of `names`, with the name as spelled in `names`.
    fn fields<'d, 't>(
        &mut self,
        value: Value<'d, 't>,
        names: &'static [&'static str],
        place: TreePlace<'_>,
        mut set: impl FnMut(&mut Self, &'static str, Value<'d, 't>, TreePlace<'_>) -> Result<(), ConfError>,
    ) -> Result<(), ConfError> {
        let mut spelled = [None; MOST_FIELDS];
        for (key, _, value) in table(value, place)?.entries() {
            let at = place.key(key);
            let exact = names.iter().position(|name| *name == key);
            let Some(field) = exact.or_else(|| names.iter().position(|name| names_field(key, name))) else {
                self.findings.push(unknown_key(key, names, at.path()));
                continue;
            };
            let name = names[field];
            if let Some(other) = spelled[field].replace(key) {
                self.findings.push(ambiguous_key(name, if exact.is_some() { other } else { key }, place));
            }
            set(self, name, value, at)?;
        }
        Ok(())
    }
}

impl<'t> RawEndpoint<'t> {
    fn set(&mut self, name: &str, value: Value<'_, 't>, place: TreePlace<'_>) -> Result<(), ConfError> {
        match name {
            "location" => self.location = string(value, place)?,
            "insecure" => self.insecure = boolean(value, place)?,
            "pull-from-mirror" => self.pull_from_mirror = string(value, place)?,
            _ => self.namespace_proxy = string(value, place)?,
        }
        Ok(())
    }
}

fn unknown_key(key: &str, names: &[&str], at: DocPath) -> Finding {
    let finding =
        Finding::new(&rules::registries::UNKNOWN_KEY, at, format!("unknown key {key:?} is ignored"));
    let plain = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
    match names.iter().find(|name| plain(name) == plain(key)) {
        Some(name) => finding.with_help(format!("did you mean {name:?}?")),
        None if key == "url" => finding.with_help("did you mean \"location\"?"),
        None => finding.with_help(format!("known here: {}", names.join(", "))),
    }
}

/// Reports a second spelling of a key. The exact spelling may or may not be one of the two.
fn ambiguous_key(name: &str, other: &str, place: TreePlace<'_>) -> Finding {
    let message = format!("{other:?} and {name:?} set the same thing");
    Finding::new(&rules::registries::AMBIGUOUS_KEY, place.key(other).path(), message)
        .with_help(format!("keep {name:?} only: which one wins in CRI-O is left to chance"))
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

fn string<'t>(value: Value<'_, 't>, place: TreePlace<'_>) -> Result<Cow<'t, str>, ConfError> {
    value.text().cloned().ok_or_else(|| place.wrong_type("a string", value))
}

fn boolean(value: Value<'_, '_>, place: TreePlace<'_>) -> Result<bool, ConfError> {
    value.boolean().ok_or_else(|| place.wrong_type("true or false", value))
}

fn table<'d, 't>(value: Value<'d, 't>, place: TreePlace<'_>) -> Result<Table<'d, 't>, ConfError> {
    value.table().ok_or_else(|| place.wrong_type("a table", value))
}

/// Fills the items of a list. Existing items are filled again, unless the new list is longer.
fn list<'d, 't, T: Default>(
    target: &mut Vec<T>,
    value: Value<'d, 't>,
    place: TreePlace<'_>,
    mut fill: impl FnMut(&mut T, Value<'d, 't>, TreePlace<'_>) -> Result<(), ConfError>,
) -> Result<(), ConfError> {
    let items = value.items().ok_or_else(|| place.wrong_type("a list", value))?;
    if items.len() > target.len() {
        target.clear();
    }
    target.resize_with(items.len(), T::default);
    for (index, (item, value)) in target.iter_mut().zip(items).enumerate() {
        fill(item, value, place.index(index))?;
    }
    Ok(())
}

fn strings<'t>(value: Value<'_, 't>, place: TreePlace<'_>) -> Result<Vec<Cow<'t, str>>, ConfError> {
    let items = value.items().ok_or_else(|| place.wrong_type("a list", value))?;
    items.enumerate().map(|(index, item)| string(item, place.index(index))).collect()
}

/// The decoder's position, as a chain on the stack. A path is built only when there is something to report.
#[derive(Clone, Copy)]
struct TreePlace<'p> {
    parent: Option<&'p TreePlace<'p>>,
    step: PlaceStep<'p>,
}

#[derive(Clone, Copy)]
enum PlaceStep<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

impl<'p> TreePlace<'p> {
    const ROOT: TreePlace<'static> = TreePlace { parent: None, step: PlaceStep::Root };

    fn key(&'p self, key: &'p str) -> TreePlace<'p> {
        TreePlace { parent: Some(self), step: PlaceStep::Key(key) }
    }

    fn index(&'p self, index: usize) -> TreePlace<'p> {
        TreePlace { parent: Some(self), step: PlaceStep::Index(index) }
    }

    fn path(&self) -> DocPath {
        let above = self.parent.map_or_else(DocPath::root, TreePlace::path);
        match self.step {
            PlaceStep::Root => above,
            PlaceStep::Key(key) => above.key(key),
            PlaceStep::Index(index) => above.index(index),
        }
    }

    fn error(&self, problem: Problem) -> ConfError {
        ConfError { at: self.path(), span: None, problem }
    }

    fn wrong_type(&self, expected: &'static str, found: Value<'_, '_>) -> ConfError {
        self.error(Problem::Type { expected, found: found.noun() })
    }
}
