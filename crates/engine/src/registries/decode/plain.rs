//! Reads the plain form of a file, as programs write it, line by line straight into fields.
//!
//! A second decoder needs a reason. A tree of all keys and values costs many times more than its content: with a
//! thousand registries that have one mirror each, a run of the plugin takes 5.4 million instructions with this decoder
//! and 13.8 million without. It saves 8.4 thousand for each registry; with a single registry, it saves 14 thousand of a
//! million. The cost tests limit the plugin to 5.75 thousand for each registry that the pull does not use. Both figures
//! come from `valgrind --tool=callgrind` with the shipped build and Secrets from a folder.
//!
//! Anything else (escapes, inline tables, aliases, unknown or repeated keys, a comment after a value) is left to
//! [`super::tree`], which also has the error messages. This module refuses nothing.

use std::borrow::Cow;

use super::{RawConf, RawEndpoint, RawRegistry};

/// Returns the fields of `text` if it is plain.
pub(super) fn decode(text: &str) -> Option<RawConf<'_>> {
    let mut conf = RawConf::default();
    let mut table = Table::Top;
    let mut seen = 0;
    let mut rest = Some(text);
    while let Some(text) = rest {
        let (line, behind) = split(text, b'\n').map_or((text, None), |(line, behind)| (line, Some(behind)));
        rest = behind;
        match trim(line) {
            "" => {}
            "[[registry]]" => {
                conf.registries.push(RawRegistry::default());
                (table, seen) = (Table::Registry, 0);
            }
            "[[registry.mirror]]" => {
                let mirrors = &mut conf.registries.last_mut()?.mirrors;
                if mirrors.is_empty() {
                    // Most registries have one or two mirrors; the default capacity of four would dominate the memory
                    // of a large file.
                    mirrors.reserve_exact(2);
                }
                mirrors.push(RawEndpoint::default());
                (table, seen) = (Table::Mirror, 0);
            }
            comment if comment.starts_with('#') => is_plain(comment).then_some(())?,
            pair => {
                let (key, value) = split(pair, b'=')?;
                let field = set(&mut conf, table, trim(key), trim(value))?;
                // A repeated key is an error, which the tree decoder reports.
                (seen & field == 0).then_some(())?;
                seen |= field;
            }
        }
    }
    Some(conf)
}

/// The table that the current lines belong to.
#[derive(Clone, Copy)]
enum Table {
    Top,
    Registry,
    Mirror,
}

/// Sets a field of the table and returns the bit of that field.
fn set<'t>(conf: &mut RawConf<'t>, table: Table, key: &str, value: &'t str) -> Option<u8> {
    let field = match table {
        Table::Top => match key {
            "unqualified-search-registries" => {
                conf.search = Some(texts(value)?);
                1
            }
            "credential-helpers" => {
                conf.credential_helpers = Some(texts(value)?);
                2
            }
            "short-name-mode" => {
                conf.short_name_mode = text(value)?;
                4
            }
            "additional-layer-store-auth-helper" => {
                conf.additional_layer_store_auth_helper = text(value)?;
                8
            }
            _ => return None,
        },
        Table::Registry => {
            let registry = conf.registries.last_mut()?;
            match key {
                "prefix" => {
                    registry.prefix = text(value)?;
                    16
                }
                "blocked" => {
                    registry.blocked = boolean(value)?;
                    32
                }
                "mirror-by-digest-only" => {
                    registry.mirror_by_digest_only = boolean(value)?;
                    64
                }
                _ => set_endpoint(&mut registry.endpoint, key, value)?,
            }
        }
        Table::Mirror => set_endpoint(conf.registries.last_mut()?.mirrors.last_mut()?, key, value)?,
    };
    Some(field)
}

fn set_endpoint<'t>(endpoint: &mut RawEndpoint<'t>, key: &str, value: &'t str) -> Option<u8> {
    let field = match key {
        "location" => {
            endpoint.location = text(value)?;
            1
        }
        "insecure" => {
            endpoint.insecure = boolean(value)?;
            2
        }
        "pull-from-mirror" => {
            endpoint.pull_from_mirror = text(value)?;
            4
        }
        "namespace-proxy" => {
            endpoint.namespace_proxy = text(value)?;
            8
        }
        _ => return None,
    };
    Some(field)
}

fn boolean(value: &str) -> Option<bool> {
    match value {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Parses a quoted string that needs no unescaping.
fn text(value: &str) -> Option<Cow<'_, str>> {
    let quote = value.bytes().next().filter(|byte| is_quote(*byte))?;
    let content = value.get(1..)?.strip_suffix(char::from(quote))?;
    let special = count(content, |byte| byte == quote || byte == b'\\');
    (is_plain(content) && special == 0).then_some(Cow::Borrowed(content))
}

/// Parses a list of such strings on one line.
fn texts(value: &str) -> Option<Vec<Cow<'_, str>>> {
    let mut rest = trim(value.strip_prefix('[')?.strip_suffix(']')?);
    let mut texts = Vec::new();
    while !rest.is_empty() {
        let quote = rest.bytes().next().filter(|byte| is_quote(*byte))?;
        let (item, behind) = rest.split_at(rest.get(1..)?.find(char::from(quote))? + 2);
        texts.push(text(item)?);
        rest = trim(behind);
        if !rest.is_empty() {
            rest = trim(rest.strip_prefix(',')?);
        }
    }
    Some(texts)
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'')
}

/// TOML allows no control characters except the tab, even in comments.
fn is_plain(text: &str) -> bool {
    count(text, |byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) == 0
}

/// Counts the matching bytes. Reading to the end, many bytes at a time, is faster than stopping at the first match.
fn count(text: &str, is_so: impl Fn(u8) -> bool) -> usize {
    text.bytes().filter(|byte| is_so(*byte)).count()
}

/// Splits at the first `byte`, which must be ASCII. Lines and keys are short, so comparing byte by byte is faster than
/// setting up a search.
fn split(text: &str, byte: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|found| found == byte)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}
