//! The whole of TOML: names match exactly or else without regard to case, unknown keys are passed over and
//! reported, a wrong type refuses the file.

use std::borrow::Cow;

use toml::de::{DeTable, DeValue};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use super::super::problem::{ConfError, Problem, syntax};
use super::{RawConf, RawEndpoint, RawRegistry, Version1};
use crate::finding::{DocPath, Finding};

/// Decodes `text`; what was passed over is added to `findings`.
pub(super) fn decode<'t>(text: &'t str, findings: &mut Vec<Finding>) -> Result<RawConf<'t>, ConfError> {
    let document = DeTable::parse(text)
        .map_err(|error| syntax(text, error.span().unwrap_or_default(), error.message()))?;
    check_lines(text)?;
    let mut conf = RawConf::default();
    let mut decoder = Decoder { findings };
    decoder.fields(document.get_ref(), TOP_LEVEL, Place::ROOT, |decoder, name, value, place| {
        match name {
            "registry" => {
                conf.registries = list(value, place, |item, place| decoder.registry(item, place))?;
            }
            "unqualified-search-registries" => conf.search = Some(strings(value, place)?),
            "credential-helpers" => conf.credential_helpers = Some(strings(value, place)?),
            "short-name-mode" => conf.short_name_mode = string(value, place)?,
            "additional-layer-store-auth-helper" => {
                conf.additional_layer_store_auth_helper = string(value, place)?;
            }
            "aliases" => {
                for (name, target) in table(value, place)? {
                    let place = place.key(name.get_ref());
                    conf.aliases.insert(name.get_ref().to_string(), string(target.get_ref(), place)?);
                }
            }
            _ => decoder.version1(value, place, &mut conf.version1)?,
        }
        Ok(())
    })?;
    Ok(conf)
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

struct Decoder<'f> {
    findings: &'f mut Vec<Finding>,
}

impl Decoder<'_> {
    fn registry<'t>(&mut self, value: &DeValue<'t>, place: Place<'_>) -> Result<RawRegistry<'t>, ConfError> {
        let mut registry = RawRegistry::default();
        self.fields(table(value, place)?, REGISTRY, place, |decoder, name, value, place| {
            match name {
                "prefix" => registry.prefix = string(value, place)?,
                "blocked" => registry.blocked = boolean(value, place)?,
                "mirror-by-digest-only" => registry.mirror_by_digest_only = boolean(value, place)?,
                "mirror" => {
                    registry.mirrors = list(value, place, |item, place| decoder.mirror(item, place))?;
                }
                _ => registry.endpoint.set(name, value, place)?,
            }
            Ok(())
        })?;
        Ok(registry)
    }

    fn mirror<'t>(&mut self, value: &DeValue<'t>, place: Place<'_>) -> Result<RawEndpoint<'t>, ConfError> {
        let mut mirror = RawEndpoint::default();
        self.fields(table(value, place)?, MIRROR, place, |_, name, value, place| {
            mirror.set(name, value, place)
        })?;
        Ok(mirror)
    }

    fn version1<'t>(
        &mut self,
        value: &DeValue<'t>,
        place: Place<'_>,
        version1: &mut Version1<'t>,
    ) -> Result<(), ConfError> {
        self.fields(table(value, place)?, VERSION1, place, |decoder, name, value, place| {
            let target = match name {
                "search" => &mut version1.search,
                "insecure" => &mut version1.insecure,
                _ => &mut version1.block,
            };
            decoder.fields(table(value, place)?, VERSION1_LIST, place, |_, _, value, place| {
                *target = Some(strings(value, place)?);
                Ok(())
            })
        })
    }

    /// Calls `set` for each entry of `table` that is one of `names`, with the name as we spell it.
    ///
    /// Go fills a field from an entry of exactly its name and also from entries that differ in case only, in
    /// random order. We let the exact one win and say so.
    fn fields<'t>(
        &mut self,
        table: &DeTable<'t>,
        names: &'static [&'static str],
        place: Place<'_>,
        mut set: impl FnMut(&mut Self, &'static str, &DeValue<'t>, Place<'_>) -> Result<(), ConfError>,
    ) -> Result<(), ConfError> {
        for (key, value) in table {
            let key = key.get_ref().as_ref();
            let place = place.key(key);
            let name = names.iter().find(|name| **name == key);
            let folded = || names.iter().find(|name| equal_fold(name, key));
            match name {
                Some(name) => set(self, name, value.get_ref(), place)?,
                None => match folded() {
                    Some(name) if table.contains_key(*name) => {
                        self.findings.push(
                            Finding::warning(
                                "registries/ambiguous-key",
                                place.path(),
                                format!("{key:?} and {name:?} set the same thing"),
                            )
                            .with_help(format!(
                                "keep {name:?} only: which one wins in CRI-O is left to chance"
                            )),
                        );
                    }
                    Some(name) => set(self, name, value.get_ref(), place)?,
                    None => {
                        check_range(value.get_ref(), place)?;
                        self.findings.push(unknown_key(key, names, place.path()));
                    }
                },
            }
        }
        Ok(())
    }
}

impl<'t> RawEndpoint<'t> {
    fn set(&mut self, name: &str, value: &DeValue<'t>, place: Place<'_>) -> Result<(), ConfError> {
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
    let finding = Finding::warning("registries/unknown-key", at, format!("unknown key {key:?} is ignored"));
    let plain = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
    match names.iter().find(|name| plain(name) == plain(key)) {
        Some(name) => finding.with_help(format!("did you mean {name:?}?")),
        None if key == "url" => finding.with_help("did you mean \"location\"?"),
        None => finding.with_help(format!("known here: {}", names.join(", "))),
    }
}

/// Key, `=` and value stand on one line, also in an inline table, which otherwise may span several; our parser
/// lets a new line pass there, the Go decoder does not.
fn check_lines(text: &str) -> Result<(), ConfError> {
    if !text.contains('{') {
        return Ok(());
    }
    let mut before = TokenKind::Newline;
    for token in Source::new(text).lex().filter(|token| token.kind() != TokenKind::Whitespace) {
        let pair = (before, token.kind());
        before = token.kind();
        if let (TokenKind::Newline | TokenKind::Comment, TokenKind::Equals)
        | (TokenKind::Equals, TokenKind::Newline | TokenKind::Comment) = pair
        {
            let span = token.span().start()..token.span().end();
            return Err(syntax(text, span, "key, `=` and value must stand on one line"));
        }
    }
    Ok(())
}

/// Go's decoder reads every number and time, also of keys that nobody wants, and refuses those that do not fit.
fn check_range(value: &DeValue<'_>, place: Place<'_>) -> Result<(), ConfError> {
    match value {
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(drop)
            .map_err(|_| place.error(Problem::OutOfRange(number.as_str().to_owned()))),
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(float) if float.is_infinite() && !number.as_str().ends_with("inf") => {
                Err(place.error(Problem::OutOfRange(number.as_str().to_owned())))
            }
            _ => Ok(()),
        },
        // Go has no leap seconds.
        DeValue::Datetime(moment) if moment.time.is_some_and(|time| time.second == Some(60)) => {
            Err(place.error(Problem::OutOfRange(moment.to_string())))
        }
        DeValue::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| check_range(item.get_ref(), place.index(index))),
        DeValue::Table(entries) => {
            entries.iter().try_for_each(|(key, value)| check_range(value.get_ref(), place.key(key.get_ref())))
        }
        _ => Ok(()),
    }
}

fn string<'t>(value: &DeValue<'t>, place: Place<'_>) -> Result<Cow<'t, str>, ConfError> {
    match value {
        DeValue::String(text) => Ok(text.clone()),
        _ => Err(place.wrong_type("a string", value)),
    }
}

fn boolean(value: &DeValue<'_>, place: Place<'_>) -> Result<bool, ConfError> {
    value.as_bool().ok_or_else(|| place.wrong_type("true or false", value))
}

fn table<'v, 'i>(value: &'v DeValue<'i>, place: Place<'_>) -> Result<&'v DeTable<'i>, ConfError> {
    value.as_table().ok_or_else(|| place.wrong_type("a table", value))
}

fn list<'t, T>(
    value: &DeValue<'t>,
    place: Place<'_>,
    mut each: impl FnMut(&DeValue<'t>, Place<'_>) -> Result<T, ConfError>,
) -> Result<Vec<T>, ConfError> {
    let items = value.as_array().ok_or_else(|| place.wrong_type("a list", value))?;
    items.iter().enumerate().map(|(index, item)| each(item.get_ref(), place.index(index))).collect()
}

fn strings<'t>(value: &DeValue<'t>, place: Place<'_>) -> Result<Vec<Cow<'t, str>>, ConfError> {
    list(value, place, string)
}

/// Go's `strings.EqualFold` against a name of ASCII letters: two characters outside of ASCII fold into it.
fn equal_fold(name: &str, key: &str) -> bool {
    let fold = |c: char| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    name.chars().map(fold).eq(key.chars().map(fold))
}

/// Where the decoder is, as a chain on the stack: a path is only built when there is something to say.
#[derive(Clone, Copy)]
struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    step: PlaceStep<'p>,
}

#[derive(Clone, Copy)]
enum PlaceStep<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

impl<'p> Place<'p> {
    const ROOT: Place<'static> = Place { parent: None, step: PlaceStep::Root };

    fn key(&'p self, key: &'p str) -> Place<'p> {
        Place { parent: Some(self), step: PlaceStep::Key(key) }
    }

    fn index(&'p self, index: usize) -> Place<'p> {
        Place { parent: Some(self), step: PlaceStep::Index(index) }
    }

    fn path(&self) -> DocPath {
        let above = self.parent.map_or_else(DocPath::root, Place::path);
        match self.step {
            PlaceStep::Root => above,
            PlaceStep::Key(key) => above.key(key),
            PlaceStep::Index(index) => above.index(index),
        }
    }

    fn error(&self, problem: Problem) -> ConfError {
        ConfError { at: self.path(), span: None, problem }
    }

    fn wrong_type(&self, expected: &'static str, found: &DeValue<'_>) -> ConfError {
        self.error(Problem::Type { expected, found: found.type_str() })
    }
}
