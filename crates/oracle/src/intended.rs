//! Where the engine answers otherwise than the Go libraries on purpose: all such places, each with its reason.

use std::borrow::Cow;
use std::collections::HashSet;

use pullwright_engine::credentials::AuthFile;
use pullwright_engine::go::json::{RawValue, names_field};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::operation::Difference;
use crate::operations::auth::found;
use crate::operations::handed_over::IN_WRITTEN_FILE;

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
        reason: "The Go decoder fills one field from `[[registry]]` and `[[Registry]]` both, in the random order of a \
             map, so that the same file loads differently from run to run. The engine lets the exact spelling win, \
             always, and warns.",
        operation: "registries",
        example: r#"{"main":"[[registry]]\n[[Registry]]\nprefix = \"*.com\"\n","dropins":[],"queries":[],"short_names":[]}"#,
        applies: |case, _| texts(case).any(|text| has_twins(&text)),
    },
    Intended {
        name: "tables that are added to after their end",
        reason: "`a = {}` and `a.b = 1` close the table `a`: TOML forbids a later `[a]`. The Go decoder forgets to look. \
             The engine's parser refuses such a file, which no TOML writer makes and the decoder's next release may \
             refuse as well.",
        operation: "registries",
        example: r#"{"main":"a.b.c = 1\n[a.b]\n","dropins":[],"queries":[],"short_names":[]}"#,
        applies: |case, difference| {
            difference.ours.get("refused").is_some() && texts(case).any(|text| adds_to_closed_table(&text))
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
        name: "credentials that are no text",
        reason: "A user name or password that is not UTF-8 is sent by the Go library as it is. Neither JSON nor the container \
             runtime interface can carry it, so no other program on the node would agree; the engine refuses it and says so.",
        operation: "auth",
        example: r#"{"file":"{\"auths\":{\"a.io\":{\"auth\":\"dTr/\"}}}","legacy":false,"keys":["a.io/x"]}"#,
        applies: |_, difference| is_no_text(difference),
    },
    Intended {
        name: "credentials that are no text",
        reason: "As in an auth file.",
        operation: "handed-over",
        example: r#"{"secrets":[],"global":"{\"auths\":{\"a.io\":{\"auth\":\"dTr/\"}}}","sources":["a.io/x"]}"#,
        applies: |_, difference| is_no_text(difference),
    },
    Intended {
        name: "NUL around a password",
        reason: "The kubelet keeps NUL bytes around a password, the runtime drops them, and the runtime does the pull. The \
             engine reads Secrets for the runtime.",
        operation: "secret",
        example: r#"{"text":"{\"auths\":{\"a.io\":{\"auth\":\"dToAcAA=\"}}}","legacy":false}"#,
        applies: |_, difference| {
            let theirs = difference.theirs["password"].as_str().unwrap_or_default();
            difference.ours["username"] == difference.theirs["username"]
                && difference.ours["password"].as_str() == Some(theirs.trim_matches('\0'))
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

/// The TOML texts of a case.
fn texts(case: &Value) -> impl Iterator<Item = String> {
    let main = case["main"].as_str().map(str::to_owned);
    let dropins = case["dropins"].as_array().into_iter().flatten();
    main.into_iter().chain(dropins.filter_map(|file| file["text"].as_str().map(str::to_owned)))
}

/// A name as Go compares it with the name of a field.
fn fold(name: &str) -> String {
    name.to_lowercase().replace('\u{17f}', "s").replace('\u{212a}', "k")
}

/// Whether any table has two keys that Go takes for one field.
fn has_twins(text: &str) -> bool {
    fn in_table(table: &DeTable<'_>) -> bool {
        let mut seen = HashSet::new();
        table.iter().any(|(key, value)| !seen.insert(fold(key.get_ref())) || in_value(value.get_ref()))
    }
    fn in_value(value: &DeValue<'_>) -> bool {
        match value {
            DeValue::Table(table) => in_table(table),
            DeValue::Array(items) => items.iter().any(|item| in_value(item.get_ref())),
            _ => false,
        }
    }
    DeTable::parse(text).is_ok_and(|table| in_table(table.get_ref()))
}

/// Whether our parser's complaint is about a key that is there already.
fn adds_to_closed_table(text: &str) -> bool {
    DeTable::parse(text).is_err_and(|error| {
        error.message() == "duplicate key" || error.message().starts_with("cannot extend value of type")
    })
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
            ours == difference.theirs || is_no_text(&Difference { ours, ..difference.clone() })
        })
}

fn host_of(text: &str) -> &str {
    match text.split('/').next().unwrap_or_default() {
        "docker.io" | "registry-1.docker.io" => "index.docker.io",
        host => host,
    }
}

fn is_no_text(difference: &Difference) -> bool {
    difference.ours["error"] == "the user name or password is not valid UTF-8"
        && ["username", "password"].iter().any(|field| difference.theirs[field].get("base64").is_some())
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
}
