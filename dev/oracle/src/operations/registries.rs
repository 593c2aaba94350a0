//! Whole configurations: accepted or refused, what they merge to, and what a pull then asks.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pullwright_engine::reference::{Dialect, Reference};
use pullwright_engine::registries::{
    CandidateError, ConfError, ConfFile, Problem, Recorded, RegistriesConf, Registry, RegistryEndpoint,
    SearchPath, ShortNameMode, ShortNameRule,
};
use pullwright_golang::toml::{Document, Fault, TomlRefusal};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::conf::{conf, recorded};
use crate::operation::{Difference, Operation, Report, fewer, without_a_part};
use crate::random::Random;
use crate::spellings;
use crate::vocabulary::{self, image, mutate};

/// The operation.
pub(super) struct Registries;

/// A configuration and what is looked up in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Case {
    main: String,
    dropins: Vec<DropIn>,
    /// The aliases that were recorded on the node.
    #[serde(default)]
    recorded: Option<String>,
    /// The mode for short names that the caller demands; empty if `registries.conf` decides.
    #[serde(default)]
    mode: String,
    queries: Vec<String>,
    short_names: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct DropIn {
    name: String,
    text: String,
}

impl Operation for Registries {
    const NAME: &'static str = "registries";
    const OP: &'static str = "registries";
    const BATCH: usize = 1;

    type Case = Case;

    fn generate(random: &mut Random) -> Case {
        let mut places = Vec::new();
        let main = conf(random, &mut places);
        let mut dropins = if random.one_in(3) {
            random.several(3, |random| DropIn {
                name: random
                    .pick(&["10-a.conf", "20-b.conf", "B.conf", "ignored.txt", "ä.conf", ".conf"])
                    .to_owned(),
                text: conf(random, &mut places),
            })
        } else {
            Vec::new()
        };
        // A folder has each name once.
        let mut names = BTreeSet::new();
        dropins.retain(|dropin| names.insert(dropin.name.clone()));
        let queries = (0..16).map(|_| query(random, &places)).collect();
        let recorded = random.one_in(6).then(|| recorded(random));
        let mode = random.pick(&["", "", "enforcing", "permissive", "disabled"]).to_owned();
        Case { main, dropins, recorded, mode, queries, short_names: random.several(3, short_name) }
    }

    fn questions(case: &Case) -> usize {
        1 + case.queries.len() + case.short_names.len()
    }

    fn compare(case: &Case, theirs: &Value, report: &mut Report) {
        match load(case) {
            Err(ours) => report.answer(|| LOADING.to_owned(), ours, &comparable_error(theirs)),
            Ok(conf) => compare_loaded(&conf, case, theirs, report),
        }
    }

    fn shrink(case: &Case) -> Vec<Case> {
        let mut smaller = Vec::new();
        for queries in fewer(&case.queries) {
            smaller.push(Case { queries, ..case.clone() });
        }
        for short_names in fewer(&case.short_names) {
            smaller.push(Case { short_names, ..case.clone() });
        }
        for dropins in fewer(&case.dropins) {
            smaller.push(Case { dropins, ..case.clone() });
        }
        for text in case.recorded.iter().flat_map(|text| without_a_part(text, '\n')) {
            smaller.push(Case { recorded: Some(text), ..case.clone() });
        }
        for main in without_a_part(&case.main, '\n') {
            smaller.push(Case { main, ..case.clone() });
        }
        for (index, dropin) in case.dropins.iter().enumerate() {
            for text in without_a_part(&dropin.text, '\n') {
                let mut case = case.clone();
                case.dropins[index].text = text;
                smaller.push(case);
            }
        }
        smaller
    }
}

/// A name, mostly one that some entry may govern.
fn query(random: &mut Random, places: &[String]) -> String {
    let query = if places.is_empty() || random.one_in(4) {
        image(random)
    } else {
        let place = &places[random.below(places.len())];
        below(random, place)
    };
    if random.odd(8) { mutate(random, &query) } else { query }
}

/// A name at or below a place, or next to it.
fn below(random: &mut Random, place: &str) -> String {
    let place = place.trim_end_matches('/');
    let place = place.replacen('*', random.pick(&["a", "sub", "x.y", "a.example.com"]), 1);
    let port = if random.one_in(10) { ":5000" } else { "" };
    let path = random.pick(&["", "/x", "/team/app", "/library/busybox", "/app", "x", ".io/x", "/"]);
    let version = match random.below(4) {
        0 => ":1".to_owned(),
        1 => format!("@{}", vocabulary::digest(random)),
        2 if random.one_in(3) => format!(":1@{}", vocabulary::digest(random)),
        _ => String::new(),
    };
    format!("{place}{port}{path}{version}")
}

fn short_name(random: &mut Random) -> String {
    let name = if random.one_in(3) {
        image(random)
    } else {
        random.pick(&["busybox", "team/app", "x:1", "a_b", "busybox:1"]).to_owned()
    };
    if random.odd(6) { mutate(random, &name) } else { name }
}

fn load(case: &Case) -> Result<RegistriesConf, Value> {
    let folder = Path::new("$DIR/registries.conf.d");
    let names = case.dropins.iter().map(|dropin| OsString::from(&dropin.name)).collect();
    let mut paths = vec![PathBuf::from("$DIR/registries.conf")];
    paths.extend(SearchPath::drop_ins([(folder, names)]));
    let mut files = Vec::new();
    for path in paths {
        let dropin = case.dropins.iter().find(|dropin| folder.join(&dropin.name) == path);
        let text = dropin.map_or(&case.main, |dropin| &dropin.text);
        let file = ConfFile::parse(text).map_err(|error| error_text(&path.to_string_lossy(), &error))?;
        files.push((path, file));
    }
    let recorded = case.recorded.as_ref().map(|text| Recorded::parse(RECORDED.into(), text));
    Ok(RegistriesConf::merge(files).with_recorded(recorded.unwrap_or_default()))
}

/// Where the Go program puts the recorded aliases.
const RECORDED: &str = "$DIR/short-name-aliases.conf";

impl Case {
    fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        let dropins = self.dropins.iter_mut().map(|dropin| &mut dropin.text);
        std::iter::once(&mut self.main).chain(dropins).chain(&mut self.recorded)
    }

    /// The engine's answer to one question of the case.
    fn answer(&self, about: &str) -> Option<Value> {
        let conf = match load(self) {
            Ok(conf) => conf,
            Err(error) => return (about == LOADING).then_some(error),
        };
        let query = || self.queries.iter().find(|query| about == about_query(query));
        let short_name = || self.short_names.iter().find(|name| about == about_short_name(name));
        match about {
            LOADING => Some(json!({ "loads": true })),
            MERGED => Some(merged(&conf)),
            _ => query()
                .map(|query| looked_up(&conf, query))
                .or_else(|| short_name().map(|name| candidates(&conf, name, &self.mode))),
        }
    }
}

/// Whether the Go library's answer is the engine's for another order of the names that a text has twice.
pub(crate) fn is_another_order(case: &Value, difference: &Difference) -> bool {
    let Ok(mut case) = Case::deserialize(case) else { return false };
    let orders: Vec<Vec<String>> = case.texts().map(|text| spellings::orders(text)).collect();
    let combinations = orders.iter().map(Vec::len).fold(1, usize::saturating_mul);
    (2..=MOST_ORDERS).contains(&combinations)
        && (0..combinations).any(|mut number| {
            for (text, orders) in case.texts().zip(&orders) {
                text.clone_from(&orders[number % orders.len()]);
                number /= orders.len();
            }
            case.answer(&difference.about).as_ref() == Some(&difference.theirs)
        })
}

/// Whether the engine refuses a file of the case for its depth alone.
pub(crate) fn is_too_deep(case: &Value) -> bool {
    let Ok(mut case) = Case::deserialize(case) else { return false };
    case.texts().any(|text| matches!(Document::parse(text), Err(TomlRefusal { fault: Fault::Depth, .. })))
}

const LOADING: &str = "loading";
const MERGED: &str = "merged";
/// More orders than this are not tried.
const MOST_ORDERS: usize = 5_000;

fn about_query(query: &str) -> String {
    format!("query {query:?}")
}

fn about_short_name(name: &str) -> String {
    format!("short name {name:?}")
}

/// The loader's text, except that the words about broken TOML are each library's own.
fn error_text(path: &str, error: &ConfError) -> Value {
    let quoted = pullwright_golang::quote::quote(path);
    match &error.problem {
        Problem::Syntax { .. } | Problem::Type { .. } | Problem::OutOfRange(_) => json!({ "refused": path }),
        _ => json!({ "error": sorted_lines(&format!("loading registries configuration {quoted}: {error}")) }),
    }
}

/// The Go decoder's errors come down to the file refused.
fn comparable_error(theirs: &Value) -> Value {
    let Some(text) = theirs["error"].as_str() else { return json!({ "loads": true }) };
    let decoder = ["toml: ", "type mismatch for ", "incompatible types: "];
    let rest =
        text.strip_prefix("loading registries configuration \"").and_then(|rest| rest.split_once("\": "));
    match rest {
        Some((path, cause)) if decoder.iter().any(|prefix| cause.starts_with(prefix)) => {
            json!({ "refused": path })
        }
        _ => json!({ "error": sorted_lines(text) }),
    }
}

/// Go finds the faults of aliases in the random order of a map.
fn sorted_lines(text: &str) -> String {
    let Some((start, faults)) = text.split_once("validating short-name aliases: ") else {
        return text.to_owned();
    };
    let mut faults: Vec<&str> = faults.split('\n').collect();
    faults.sort_unstable();
    format!("{start}validating short-name aliases: {}", faults.join("\n"))
}

fn compare_loaded(conf: &RegistriesConf, case: &Case, theirs: &Value, report: &mut Report) {
    if theirs.get("error").is_some() {
        report.answer(|| LOADING.to_owned(), json!({ "loads": true }), &comparable_error(theirs));
        return;
    }
    report.answer(|| MERGED.to_owned(), merged(conf), &theirs["config"]);
    for (index, query) in case.queries.iter().enumerate() {
        report.answer(|| about_query(query), looked_up(conf, query), &theirs["queries"][index]);
    }
    for (index, name) in case.short_names.iter().enumerate() {
        report.answer(
            || about_short_name(name),
            candidates(conf, name, &case.mode),
            &comparable_short_name(&theirs["short_names"][index]),
        );
    }
}

fn merged(conf: &RegistriesConf) -> Value {
    json!({
        "registries": conf.registries().into_iter().map(described).collect::<Vec<_>>(),
        "unqualified_search_registries": conf.unqualified_search_registries(),
        "credential_helpers": conf.credential_helpers(),
        "short_name_mode": conf.short_name_mode(),
        "additional_layer_store_auth_helper": conf.additional_layer_store_auth_helper(),
    })
}

fn described(registry: &Registry) -> Value {
    let mut described = endpoint(&registry.endpoint, "");
    described["prefix"] = registry.prefix.as_str().into();
    described["blocked"] = registry.blocked.into();
    described["mirror_by_digest_only"] = registry.mirror_by_digest_only.into();
    described["mirrors"] = registry
        .mirrors
        .iter()
        .map(|mirror| endpoint(&mirror.endpoint, mirror.pull_from_mirror.map_or("", |value| value.as_str())))
        .collect();
    described
}

fn endpoint(endpoint: &RegistryEndpoint, pull_from_mirror: &str) -> Value {
    json!({
        "location": endpoint.location,
        "insecure": endpoint.insecure,
        "pull_from_mirror": pull_from_mirror,
        "namespace_proxy": endpoint.namespace_proxy,
    })
}

fn looked_up(conf: &RegistriesConf, query: &str) -> Value {
    let found = |name: &str| conf.find(name).map(|registry| registry.prefix.as_str());
    let mut answer = json!({ "found": found(query) });
    if let Ok(image) = Reference::parse(Dialect::Runtime, query) {
        let mut pull = json!({ "found": found(image.name()) });
        if conf.find(image.name()).is_some() {
            match conf.pull_sources(&image) {
                Err(error) => pull["error"] = error.to_string().into(),
                Ok(sources) => {
                    pull["sources"] = sources
                        .iter()
                        .map(|source| json!({ "reference": source.reference, "insecure": source.insecure }))
                        .collect();
                }
            }
        }
        answer["pull"] = pull;
    }
    answer
}

fn candidates(conf: &RegistriesConf, name: &str, mode: &str) -> Value {
    let mode = match mode {
        "enforcing" => ShortNameMode::Enforcing,
        "permissive" => ShortNameMode::Permissive,
        "disabled" => ShortNameMode::Disabled,
        _ => conf.short_name_mode(),
    };
    match conf.candidates(name, &ShortNameRule { mode, origin: None }) {
        Ok(candidates) => {
            let references: Vec<_> = candidates.into_iter().map(|candidate| candidate.reference).collect();
            json!({ "candidates": references })
        }
        // CRI-O's own words; the library is asked by no terminal and says its own.
        Err(CandidateError::Ambiguous { .. }) => {
            json!({ "error": "short-name resolution enforced but cannot prompt without a TTY" })
        }
        Err(CandidateError::Aliases(error)) => unreadable_aliases(&error.to_string()),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

fn comparable_short_name(theirs: &Value) -> Value {
    let aliases = theirs["error"].as_str().filter(|error| error.starts_with(ALIASES));
    aliases.map_or_else(|| theirs.clone(), unreadable_aliases)
}

const ALIASES: &str = "loading short-name aliases config file \"$DIR/short-name-aliases.conf\": ";

/// Why recorded aliases cannot be read: the faults of aliases in order, the words about broken TOML left out.
fn unreadable_aliases(error: &str) -> Value {
    let mut faults: Vec<&str> = error.strip_prefix(ALIASES).unwrap_or(error).split('\n').collect();
    faults.sort_unstable();
    let about_aliases =
        ["cannot parse short name: ", "invalid short name ", "parsing alias ", "invalid alias "];
    // The reference library's own words about an alias, which has no repository that a registry could be asked for.
    let is_about = |fault: &&str| {
        about_aliases.iter().any(|start| fault.starts_with(start))
            || fault.starts_with("repository name")
            || fault.starts_with("invalid reference")
    };
    json!({ "aliases": if faults.iter().all(is_about) { faults.join("\n") } else { "refused".to_owned() } })
}
