//! What a credential provider prints: which answers the kubelet takes.

use pullwright_engine::kubelet::exec::ResponseError;
use pullwright_engine::kubelet::{ApiVersion, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::json::{object, string, value};
use crate::operation::{Operation, Report, up_to_the_character, without_a_character, without_a_part};
use crate::random::Random;
use crate::vocabulary::mutate;

/// The operation.
pub(super) struct Responses;

/// An answer and the version of the question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Case {
    text: String,
    api_version: String,
}

impl Operation for Responses {
    const NAME: &'static str = "response";
    const OP: &'static str = "response";
    const BATCH: usize = 32;

    type Case = Case;

    fn generate(random: &mut Random) -> Case {
        let api_version = ApiVersion::ALL[random.below(3)].as_str();
        let answered = if random.odd(8) {
            random.pick(&["", "v1", "credentialprovider.kubelet.k8s.io/v1"])
        } else {
            api_version
        };
        let kind = if random.odd(10) {
            random.pick(&["", "CredentialProviderRequest"])
        } else {
            "CredentialProviderResponse"
        };
        let cache = random.pick(&["Image", "Registry", "Global", "Image", "", "image"]);
        let mut members = vec![
            ("kind".to_owned(), string(random, kind)),
            ("apiVersion".to_owned(), string(random, answered)),
            ("cacheKeyType".to_owned(), string(random, cache)),
        ];
        if random.one_in(2) {
            let duration = if random.odd(4) {
                random.pick(&["", "x", "5", "1d"])
            } else {
                random.pick(&["5m", "0s", "0", "-1s", "1h30m", "1.5s"])
            };
            members.push(("cacheDuration".to_owned(), string(random, duration)));
        }
        if !random.one_in(5) {
            let auth = random
                .several(3, |random| (random.pick(&["a.io", "*.b.io", "", "ä"]).to_owned(), login(random)));
            members.push(("auth".to_owned(), object(random, auth)));
        }
        if random.odd(12) {
            members.push((random.pick(&["unknown", "Auth", "metadata"]).to_owned(), value(random, 1)));
        }
        if random.odd(15) {
            let place = random.below(members.len());
            members[place].1 = value(random, 2);
        }
        let text = object(random, members);
        let text = match if random.odd(4) { random.below(3) } else { 3 } {
            0 => mutate(random, &text),
            1 => random.pick(&["", "null", "[]", "{}", "\"x\"", "1", "{", " "]).to_owned(),
            2 => format!(" \n{text}\n"),
            _ => text,
        };
        Case { text, api_version: api_version.to_owned() }
    }

    fn questions(_: &Case) -> usize {
        1
    }

    fn compare(case: &Case, theirs: &Value, report: &mut Report) {
        let Some(version) = ApiVersion::from_text(&case.api_version) else { return };
        let ours = match Response::parse(case.text.as_bytes(), version) {
            Err(ResponseError::CacheKeyType(kind)) => json!({ "cache_key_type": kind }),
            Err(error) => json!({ "error": up_to_the_character(&error.to_string()) }),
            Ok(response) => {
                let auth = response.auth.iter().map(|(key, auth)| {
                    (key.clone(), json!({ "username": auth.username, "password": auth.password.expose() }))
                });
                json!({
                    "cache_key_type": response.cache_key_type.as_str(),
                    "cache_duration": response.cache_duration.map(|duration| duration.to_string()),
                    "auth": auth.collect::<serde_json::Map<_, _>>(),
                })
            }
        };
        report.answer(|| "answer".to_owned(), ours, &comparable(theirs));
    }

    fn shrink(case: &Case) -> Vec<Case> {
        let texts = without_a_part(&case.text, ',').into_iter().chain(without_a_character(&case.text));
        texts.map(|text| Case { text, ..case.clone() }).collect()
    }
}

fn login(random: &mut Random) -> String {
    let mut members = Vec::new();
    for name in ["username", "password"] {
        if !random.one_in(6) {
            let text = random.pick(&["", "ada", "p\u{0}", "<&>"]);
            members.push((name.to_owned(), string(random, text)));
        }
    }
    if random.odd(12) { value(random, 1) } else { object(random, members) }
}

/// The kubelet looks at the kind of cache key only after the decoding that the Go program does.
fn comparable(theirs: &Value) -> Value {
    if let Some(error) = theirs["error"].as_str() {
        return json!({ "error": up_to_the_character(error) });
    }
    let kind = theirs["cache_key_type"].as_str().unwrap_or_default();
    if ["Image", "Registry", "Global"].contains(&kind) {
        theirs.clone()
    } else {
        json!({ "cache_key_type": kind })
    }
}
