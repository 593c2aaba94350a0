//! Credentials in Secrets: what the kubelet reads, the engine reads.

use std::collections::BTreeMap;

use pullwright_engine::credentials::{Credential, PullSecret, Secret, SecretName, Sensitive};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::auth::text;
use crate::auths::document;
use crate::operation::{Operation, Report, without_a_character, without_a_part};
use crate::random::Random;

/// The operation.
pub(super) struct Secrets;

/// A document as it stands in a Secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Case {
    text: String,
    legacy: bool,
}

impl Operation for Secrets {
    const NAME: &'static str = "secret";
    const OP: &'static str = "dockerconfig";
    const BATCH: usize = 32;

    type Case = Case;

    fn generate(random: &mut Random) -> Case {
        let legacy = random.one_in(3);
        Case { text: document(random, legacy, &mut Vec::new()), legacy }
    }

    fn questions(_: &Case) -> usize {
        1
    }

    fn compare(case: &Case, theirs: &Value, report: &mut Report) {
        let ours = read(case);
        let used = ours.as_ref().map_or(&[][..], PullSecret::entries);
        let Some(entries) = theirs["entries"].as_object() else {
            let ours = if used.is_empty() { "refused" } else { "used" };
            report.answer(|| "document".to_owned(), json!(ours), &json!("refused"));
            return;
        };
        report.answer(|| "document".to_owned(), json!(ours.is_some() || entries.is_empty()), &json!(true));
        for entry in used {
            let Credential { username, password, .. } = &entry.credential;
            let ours = json!({ "username": text(username), "password": text(password.expose()) });
            let theirs = entries.get(&entry.key).map_or(
                Value::Null,
                |theirs| json!({ "username": theirs["username"], "password": theirs["password"] }),
            );
            report.answer(|| entry.key.clone(), ours, &theirs);
        }
    }

    fn shrink(case: &Case) -> Vec<Case> {
        let texts = without_a_part(&case.text, ',').into_iter().chain(without_a_character(&case.text));
        texts.map(|text| Case { text, ..case.clone() }).collect()
    }
}

fn read(case: &Case) -> Option<PullSecret> {
    let (kind, key) = if case.legacy {
        ("kubernetes.io/dockercfg", ".dockercfg")
    } else {
        ("kubernetes.io/dockerconfigjson", ".dockerconfigjson")
    };
    let secret = Secret {
        name: SecretName { namespace: "ns".to_owned(), name: "s".to_owned() },
        kind: kind.to_owned(),
        data: BTreeMap::from([(key.to_owned(), Sensitive::new(case.text.clone().into_bytes()))]),
    };
    PullSecret::read(&secret).ok()
}
