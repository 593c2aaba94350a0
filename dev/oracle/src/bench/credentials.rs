//! Looking up in an auth file, and choosing credentials for many sources out of many Secrets.

use std::collections::BTreeMap;

use pullwright_engine::credentials::{AuthFile, Lookup, PullSecret, Secret, SecretName, Sensitive, select};
use serde::Serialize;
use serde_json::{Value, json};

use super::{BenchError, Pair, time};
use crate::process::Oracle;

/// One size of auth file.
#[derive(Debug, Serialize)]
pub struct LookupRow {
    /// How many entries the file has.
    pub entries: usize,
    /// One lookup with reading the file, as the Go library does each time.
    pub lookup: Pair,
    /// One lookup by the engine in a file that it has read.
    pub in_memory_ns: f64,
}

/// One size of selection.
#[derive(Debug, Serialize)]
pub struct SelectionRow {
    /// How many Secrets.
    pub secrets: usize,
    /// How many sources.
    pub sources: usize,
    /// Reading all Secrets.
    pub read_ns: f64,
    /// Choosing for all sources.
    pub select_ns: f64,
    /// Writing the auth file.
    pub write_ns: f64,
    /// The choosing, shared out over Secrets and sources: the same at every size if the cost is linear in their sum.
    pub select_ns_per_item: f64,
}

pub(super) fn measure_lookup(oracle: &mut Oracle, entries: usize) -> Result<LookupRow, BenchError> {
    let auths: BTreeMap<String, Value> = (0..entries)
        .map(|entry| (format!("quay.io/team{entry}"), json!({ "auth": "YWRhOnNlY3JldA==" })))
        .collect();
    let file = json!({ "auths": auths }).to_string();
    let keys: Vec<String> =
        (0..20).map(|key| format!("quay.io/team{}/app/image", key * entries / 10)).collect();
    let rounds = (20_000 / entries).max(5);
    let request = json!({ "op": "bench-auth", "request": { "file": file, "keys": keys, "rounds": rounds } });
    let go = oracle.ask(&request.to_string())?;

    let parsed = AuthFile::parse(file.as_bytes()).unwrap_or_else(|_| AuthFile::missing());
    let found_in =
        |file: &AuthFile| keys.iter().filter(|key| matches!(file.lookup(key), Lookup::Found { .. })).count();
    let found = found_in(&parsed) * rounds;
    if go["found"] != found {
        return Err(BenchError::OtherWork { what: format!("{entries} auth entries"), engine: found, go });
    }
    let mut next = keys.iter().cycle();
    let with_reading = time(|| {
        let file = AuthFile::parse(file.as_bytes()).unwrap_or_else(|_| AuthFile::missing());
        next.next().is_some_and(|key| matches!(file.lookup(key), Lookup::Found { .. }))
    });
    let count = f64::from(u32::try_from(keys.len()).unwrap_or(u32::MAX));
    let in_memory_ns = time(|| found_in(&parsed)) / count;
    let theirs = go["lookup_ns"].as_f64().unwrap_or(f64::NAN);
    Ok(LookupRow { entries, lookup: Pair::new(with_reading, theirs), in_memory_ns })
}

pub(super) fn measure_selection(secrets: usize, sources: usize) -> SelectionRow {
    let manifests: Vec<Secret> = (0..secrets).map(secret).collect();
    let read = || -> Vec<PullSecret> {
        manifests.iter().filter_map(|secret| PullSecret::read(secret).ok()).collect()
    };
    let read_ns = time(read);
    let pull_secrets = read();
    let names: Vec<String> =
        (0..sources).map(|source| format!("mirror{source}.example.com/team/app/image")).collect();
    let choose = || select(&pull_secrets, None, names.iter().map(String::as_str));
    let select_ns = time(choose);
    let selection = choose();
    let write_ns = time(|| selection.auth_file());
    let items = f64::from(u32::try_from(secrets + sources).unwrap_or(u32::MAX));
    SelectionRow { secrets, sources, read_ns, select_ns, write_ns, select_ns_per_item: select_ns / items }
}

/// A Secret for one mirror, which half of the time names the team as well.
fn secret(number: usize) -> Secret {
    let key = if number.is_multiple_of(2) {
        format!("mirror{number}.example.com")
    } else {
        format!("mirror{number}.example.com/team")
    };
    let document = json!({ "auths": { key: { "auth": "YWRhOnNlY3JldA==" } } }).to_string();
    Secret {
        name: SecretName { namespace: "team".to_owned(), name: format!("pull-{number}") },
        kind: "kubernetes.io/dockerconfigjson".to_owned(),
        data: BTreeMap::from([(".dockerconfigjson".to_owned(), Sensitive::new(document.into_bytes()))]),
    }
}
