//! Where the engine answers otherwise than the Go libraries on purpose: all such places, each with its reason.

use std::borrow::Cow;

use pullwright_engine::credentials::AuthFile;
use pullwright_golang::base64;
use pullwright_golang::json::{RawValue, names_field};
use serde_json::Value;

use crate::operation::Difference;
use crate::operations::auth::found;
use crate::operations::handed_over::IN_WRITTEN_FILE;
use crate::operations::registries::{is_another_order, is_too_deep};

/// A difference that is meant.
pub struct Intended {
    /// A short name, for the closing table.
    pub name: &'static str,
    /// Why the engine answers otherwise.
    pub reason: &'static str,
    /// The operation in which it shows.
    pub operation: &'static str,
    /// A case that shows it. A test asks it: an entry that shows no difference any more is a failure.
    pub example: &'static str,
    applies: fn(&Value, &Difference) -> bool,
}

/// All of them.
pub const ALL: &[Intended] = &[
    Intended {
        name: "keys that differ in case only",
        reason: "The Go decoder fills one field from `location` and `Location` both, in the random order of a map, so that \
             the same file loads differently from run to run. The engine takes one of those orders, always the same, and \
             warns. Its answer in another order must be Go's.",
        operation: "registries",
        example: r#"{"main":"short-name-mode = 'enforcing'\nShort-Name-Mode = 'disabled'\nSHORT-NAME-MODE = 'permissive'\n","dropins":[],"queries":[],"short_names":[]}"#,
        applies: is_another_order,
    },
    Intended {
        name: "more than 200 levels",
        reason: "Go's stacks grow until memory ends, and so does its parser. The parser here has the stack of its thread, \
             and a file must not be able to end the program. `registries.conf` has four levels.",
        operation: "registries",
        example: r#"{"main":"a = [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]","dropins":[],"queries":[],"short_names":[]}"#,
        applies: |case, difference| {
            (difference.ours.get("refused").is_some() || difference.ours["aliases"] == "refused")
                && is_too_deep(case)
        },
    },
    Intended {
        name: "several keys for one host",
        reason: "Where no key is a parent of the repository, the Go library takes any entry whose key means the same host \
             (`https://index.docker.io/v1/`, `docker.io`), in the random order of a map. The engine takes the first in \
             byte order, always.",
        operation: "auth",
        example: r#"{"file":"{\"auths\":{\"http://a.io\":{},\"https://a.io\":{\"auth\":\"YTpi\"}}}","legacy":false,"keys":["a.io/x"]}"#,
        applies: |case, difference| {
            let legacy = case["legacy"].as_bool().unwrap_or_default();
            case["file"].as_str().is_some_and(|file| is_any_of_several(file, legacy, difference))
        },
    },
    Intended {
        name: "several keys for one host",
        reason: "As in an auth file: here it is the node's own, which the runtime reads where the engine writes none.",
        operation: "handed-over",
        example: r#"{"secrets":[],"global":"{\"auths\":{\"http://a.io\":{},\"https://a.io\":{\"auth\":\"YTpi\"}}}","sources":["a.io/x"]}"#,
        applies: |case, difference| {
            !difference.about.ends_with(IN_WRITTEN_FILE)
                && case["global"].as_str().is_some_and(|file| is_any_of_several(file, false, difference))
        },
    },
    Intended {
        name: "NUL around a password",
        reason: "The kubelet keeps NUL bytes around a password, the runtime drops them, and the runtime does the pull. The \
             engine reads Secrets for the runtime.",
        operation: "secret",
        example: r#"{"text":"{\"auths\":{\"a.io\":{\"auth\":\"dToAcAA=\"}}}","legacy":false}"#,
        applies: |_, difference| {
            let password = |answer: &Value| bytes(&answer["password"]);
            difference.ours["username"] == difference.theirs["username"]
                && password(&difference.ours).is_some_and(|ours| {
                    password(&difference.theirs).is_some_and(|theirs| ours == without_nul_around(&theirs))
                })
        },
    },
    Intended {
        name: "an identity token alone",
        reason: "The kubelet ignores `identitytoken`. Docker and podman write it, and the runtime takes it beside a user name, \
             for which `<token>` is the one that all of them use.",
        operation: "secret",
        example: r#"{"text":"{\"auths\":{\"a.io\":{\"identitytoken\":\"t\"}}}","legacy":false}"#,
        applies: |_, difference| {
            difference.ours == serde_json::json!({ "username": "<token>", "password": "" })
                && difference.theirs == serde_json::json!({ "username": "", "password": "" })
        },
    },
    Intended {
        name: "a Secret with a bad part",
        reason: "For one entry that it cannot read, or a field that it does not need, the kubelet refuses a whole Secret and with \
             it all others of the Pod. The engine uses the entries that are good, and reports those that are not.",
        operation: "secret",
        example: r#"{"text":"{\"auths\":{\"a.io\":{\"auth\":\"dTpw\"},\"b.io\":{\"auth\":\"x\"}}}","legacy":false}"#,
        applies: |_, difference| difference.ours == "used" && difference.theirs == "refused",
    },
    Intended {
        name: "another kind with fields of its own",
        reason: "Given another of its own kinds, the kubelet first complains about the fields that this kind does not have. The \
             engine knows only the one kind that can be meant, and says that it is the wrong one.",
        operation: "provider-config",
        example: r#"{"file":"{\"kind\":\"KubeletConfiguration\",\"apiVersion\":\"kubelet.config.k8s.io/v1beta1\",\"providers\":[]}"}"#,
        applies: |_, difference| {
            let ends =
                |value: &Value, end: &str| value["error"].as_str().is_some_and(|error| error.contains(end));
            ends(&difference.ours, "(wrong Kind)") && ends(&difference.theirs, "error decoding config")
        },
    },
];

/// The entry that allows this difference, if one does.
#[must_use]
pub fn reason(operation: &str, case: &Value, difference: &Difference) -> Option<&'static Intended> {
    ALL.iter().find(|intended| intended.operation == operation && (intended.applies)(case, difference))
}

/// Whether the Go library's answer is that of one of several keys, each taken alone.
fn is_any_of_several(file: &str, legacy: bool, difference: &Difference) -> bool {
    let Ok(document) = RawValue::parse(file.as_bytes()) else { return false };
    let is_auths = |(name, _): &(Cow<'_, str>, RawValue<'_>)| names_field(name, "auths");
    let entries: Vec<_> = if legacy {
        document.members().collect()
    } else {
        document.members().filter(is_auths).flat_map(|(_, auths)| auths.members()).collect()
    };
    let host = host_of(&difference.about);
    let bare = |key: &str| key.trim_start_matches("http://").trim_start_matches("https://").to_owned();
    let same_host: Vec<_> = entries.into_iter().filter(|(key, _)| host_of(&bare(key)) == host).collect();
    same_host.len() > 1
        && same_host.into_iter().any(|(_, entry)| {
            let start = format!("{{\"auths\":{{\"https://{host}\":").into_bytes();
            let alone = AuthFile::parse(&[&start, entry.bytes(), b"}}"].concat());
            let ours = alone.map_or(Value::Null, |file| found(file.lookup(&difference.about)));
            ours == difference.theirs
        })
}

/// The bytes of a text in an answer, which is in base64 where it is not UTF-8.
fn bytes(text: &Value) -> Option<Vec<u8>> {
    let plain = text.as_str().map(|text| text.as_bytes().to_vec());
    plain.or_else(|| base64::decode(text["base64"].as_str()?).ok())
}

fn without_nul_around(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().take_while(|byte| **byte == 0).count();
    let rest = &bytes[start..];
    &rest[..rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)]
}

fn host_of(text: &str) -> &str {
    match text.split('/').next().unwrap_or_default() {
        "docker.io" | "registry-1.docker.io" => "index.docker.io",
        host => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations;

    #[test]
    fn every_entry_has_a_reason_and_an_operation_that_shows_it() {
        for intended in ALL {
            assert!(intended.reason.ends_with('.'), "{}", intended.name);
            assert!(
                operations::ALL.iter().any(|entry| entry.name == intended.operation),
                "{}",
                intended.name
            );
            let example: Value = serde_json::from_str(intended.example).unwrap();
            assert!(example.is_object(), "{}", intended.name);
            let others = ALL
                .iter()
                .filter(|other| (other.name, other.operation) == (intended.name, intended.operation));
            assert_eq!(others.count(), 1, "{} is there twice", intended.name);
        }
    }

    #[test]
    fn a_second_spelling_excuses_only_what_another_order_answers() {
        let case = serde_json::json!({
            "main": "short-name-mode = 'enforcing'\nShort-Name-Mode = 'disabled'\n[[registry]]\nlocation = 'a.io'\n",
            "dropins": [], "queries": ["a.io/x"], "short_names": [],
        });
        let excused = |about: &str, theirs: Value| {
            let difference = Difference { about: about.to_owned(), ours: Value::Null, theirs };
            reason("registries", &case, &difference).is_some()
        };
        let merged = |mode: &str, location: &str| {
            serde_json::json!({
                "registries": [{
                    "prefix": location, "location": location, "insecure": false, "pull_from_mirror": "",
                    "namespace_proxy": "", "blocked": false, "mirror_by_digest_only": false, "mirrors": [],
                }],
                "unqualified_search_registries": null, "credential_helpers": ["containers-auth.json"],
                "short_name_mode": mode, "additional_layer_store_auth_helper": "",
            })
        };
        assert!(excused("merged", merged("disabled", "a.io")));
        assert!(!excused("merged", merged("permissive", "a.io")), "no order has that mode");
        assert!(!excused("merged", merged("disabled", "b.io")), "what is named once is never left to chance");
        assert!(!excused("query \"a.io/x\"", serde_json::json!({ "found": null })));
    }
}
