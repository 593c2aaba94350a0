//! Loading a `registries.conf` of many entries, and finding the entry for a name in it.

use std::fmt::Write;
use std::path::PathBuf;

use pullwright_engine::registries::{ConfFile, RegistriesConf};
use serde::Serialize;
use serde_json::json;

use super::{BenchError, Pair, time};
use crate::process::Oracle;

/// One size.
#[derive(Debug, Serialize)]
pub struct Row {
    /// How many entries the file has.
    pub entries: usize,
    /// From text to merged configuration.
    pub load: Pair,
    /// One lookup.
    pub lookup: Pair,
}

/// How many names are looked up: found by host, by path, by wildcard, and not found.
const QUERIES: usize = 200;

pub(super) fn measure(oracle: &mut Oracle, entries: usize) -> Result<Row, BenchError> {
    let text = conf(entries);
    let queries = queries(entries);
    // The Go library walks all entries at each lookup: as many rounds as a second or so allows.
    let rounds = (20_000_000 / (entries * QUERIES)).max(1);
    let loads = (20_000 / entries).max(3);
    let request = json!({
        "op": "bench-registries",
        "request": { "main": text, "queries": queries, "loads": loads, "rounds": rounds },
    });
    let go = oracle.ask(&request.to_string())?;

    let load = time(|| load(&text));
    let conf = load_once(&text, &go)?;
    let look_up_all = || queries.iter().filter(|query| conf.find(query).is_some()).count();
    let found = look_up_all() * rounds;
    if go["found"] != found {
        return Err(BenchError::OtherWork { what: format!("{entries} registries"), engine: found, go });
    }
    let count = f64::from(u32::try_from(queries.len()).unwrap_or(u32::MAX));
    let lookup = time(look_up_all) / count;
    let theirs = |field: &str| go[field].as_f64().unwrap_or(f64::NAN);
    Ok(Row {
        entries,
        load: Pair::new(load, theirs("load_ns")),
        lookup: Pair::new(lookup, theirs("lookup_ns")),
    })
}

fn load(text: &str) -> Option<RegistriesConf> {
    let file = ConfFile::parse(text).ok()?;
    Some(RegistriesConf::merge([(PathBuf::from("registries.conf"), file)]))
}

fn load_once(text: &str, go: &serde_json::Value) -> Result<RegistriesConf, BenchError> {
    load(text).ok_or_else(|| BenchError::OtherWork { what: "loading".to_owned(), engine: 0, go: go.clone() })
}

/// A file as an operator renders it: hosts with paths, each with a mirror, and some wildcards.
fn conf(entries: usize) -> String {
    let mut text = String::from("unqualified-search-registries = [\"docker.io\"]\n");
    for entry in 0..entries {
        let _ = match entry % 10 {
            0 => write!(text, "\n[[registry]]\n  prefix = \"*.wild{entry}.example.com\"\n"),
            1..=4 => write!(text, "\n[[registry]]\n  location = \"registry{entry}.example.com\"\n"),
            _ => write!(text, "\n[[registry]]\n  location = \"quay.io/team{entry}/app\"\n"),
        };
        let _ = write!(
            text,
            "\n  [[registry.mirror]]\n    location = \"mirror.example.com/m{entry}\"\n    pull-from-mirror = \"digest-only\"\n"
        );
    }
    text
}

fn queries(entries: usize) -> Vec<String> {
    (0..QUERIES)
        .map(|query| {
            let entry = query * entries / QUERIES / 10 * 10;
            match query % 4 {
                0 => format!("a.wild{entry}.example.com/team/app"),
                1 => format!("registry{}.example.com/team/app/image", entry + 1),
                2 => format!("quay.io/team{}/app/image", entry + 5),
                _ => format!("quay.io/other{entry}/app/image"),
            }
        })
        .collect()
}
