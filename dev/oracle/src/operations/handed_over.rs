//! The auth file that the engine writes: the runtime finds in it, for every source, the credential that was chosen.

use std::collections::BTreeMap;

use pullwright_engine::credentials::{
    Absence, AuthFile, AuthFileContent, Choice, PullSecret, Secret, SecretName, Selection, Sensitive, select,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::auth::{comparable, helper, text};
use crate::auths::{document, repository};
use crate::operation::{Operation, Report, fewer, without_a_part};
use crate::random::Random;

/// The operation.
pub(super) struct HandedOver;

/// What is said of an answer that came from a file of the engine's making, in which nothing may be left to chance.
pub(crate) const IN_WRITTEN_FILE: &str = " in the written file";

/// The Secrets of a namespace, the node's file, and what is pulled.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Case {
    secrets: Vec<String>,
    global: Option<String>,
    sources: Vec<String>,
}

impl Operation for HandedOver {
    const NAME: &'static str = "handed-over";
    const OP: &'static str = "auth";
    const BATCH: usize = 1;

    type Case = Case;

    fn generate(random: &mut Random) -> Case {
        let mut keys = Vec::new();
        let secrets = random.several(4, |random| document(random, false, &mut keys));
        let global = (!random.one_in(4)).then(|| document(random, false, &mut keys));
        let sources = (0..=random.below(7)).map(|_| repository(random, &keys)).collect();
        Case { secrets, global, sources }
    }

    /// The file is the engine's; where it writes none the runtime reads the node's own.
    fn request(case: &Case) -> Value {
        let secrets = read(case);
        let global = global(case);
        let file = match select(&secrets, global.as_ref(), sources(case)).auth_file() {
            Some(AuthFileContent { bytes, .. }) => String::from_utf8_lossy(bytes.expose()).into_owned(),
            None if global.is_some() => case.global.clone().unwrap_or_default(),
            None => "{}".to_owned(),
        };
        json!({ "file": file, "legacy": false, "keys": case.sources })
    }

    fn questions(case: &Case) -> usize {
        case.sources.len()
    }

    fn compare(case: &Case, theirs: &Value, report: &mut Report) {
        let secrets = read(case);
        let global = global(case);
        let selection = select(&secrets, global.as_ref(), sources(case));
        let place = if selection.auth_file().is_some() { IN_WRITTEN_FILE } else { "" };
        for (position, source) in case.sources.iter().enumerate() {
            let about = || format!("{source}{place}");
            report.answer(about, chosen(&selection, position), &comparable(&theirs[position]));
        }
    }

    fn shrink(case: &Case) -> Vec<Case> {
        let mut smaller = Vec::new();
        smaller.extend(fewer(&case.sources).into_iter().map(|sources| Case { sources, ..case.clone() }));
        smaller.extend(fewer(&case.secrets).into_iter().map(|secrets| Case { secrets, ..case.clone() }));
        if let Some(text) = &case.global {
            smaller.push(Case { global: None, ..case.clone() });
            for text in without_a_part(text, ',') {
                smaller.push(Case { global: Some(text), ..case.clone() });
            }
        }
        for (index, text) in case.secrets.iter().enumerate() {
            for text in without_a_part(text, ',') {
                let mut case = case.clone();
                case.secrets[index] = text;
                smaller.push(case);
            }
        }
        smaller
    }
}

fn sources(case: &Case) -> impl Iterator<Item = &str> {
    case.sources.iter().map(String::as_str)
}

/// A file that the runtime would refuse is not merged with: there is no global file then.
fn global(case: &Case) -> Option<AuthFile> {
    AuthFile::parse(case.global.as_ref()?.as_bytes()).ok()
}

fn read(case: &Case) -> Vec<PullSecret> {
    let secret = |(index, text): (usize, &String)| {
        let secret = Secret {
            name: SecretName { namespace: "ns".to_owned(), name: format!("s{index}") },
            kind: "kubernetes.io/dockerconfigjson".to_owned(),
            data: BTreeMap::from([(
                ".dockerconfigjson".to_owned(),
                Sensitive::new(text.clone().into_bytes()),
            )]),
        };
        PullSecret::read(&secret).ok()
    };
    case.secrets.iter().enumerate().filter_map(secret).collect()
}

fn chosen(selection: &Selection<'_>, position: usize) -> Value {
    let nothing = json!({ "username": "", "password": "", "identitytoken": "" });
    match selection.choices().nth(position) {
        None => Value::Null,
        Some(Choice::Helper { name }) => helper(name),
        Some(Choice::None(Absence::LookupFailed { error })) => json!({ "error": error }),
        Some(Choice::None(_)) => nothing,
        Some(Choice::Namespace { .. } | Choice::Global { .. }) => {
            selection.credential(position).map_or(nothing, |found| {
                json!({
                    "username": text(&found.username),
                    "password": text(found.password.expose()),
                    "identitytoken": found.identity_token.map(Sensitive::into_exposed).unwrap_or_default(),
                })
            })
        }
    }
}
