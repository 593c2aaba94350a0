//! Documents: what is accepted, what survives, and that no refusal shows content.

use proptest::prelude::*;

use super::super::{AuthFile, Document, DocumentError, Format, LegacyAuthFile, Lookup};
use super::auth_file;

fn refusal(text: &str) -> String {
    AuthFile::parse(text.as_bytes()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn go_decides_what_is_accepted() {
    for accepted in [
        "null",
        "{}",
        r#"{"auths": null, "credHelpers": null}"#,
        r#"{"auths": {"q.io": null}}"#,
        r#"{"auths": {"q.io": {"auth": null}}}"#,
        r#"{"auths": {"q.io": {"username": 5, "x": [1e999]}}, "credsStore": 7}"#,
    ] {
        assert!(AuthFile::parse(accepted.as_bytes()).is_ok(), "{accepted}");
    }
    assert_eq!(refusal(""), "unexpected end of JSON input");
    assert_eq!(refusal("[]"), "the document is a list instead of an object");
    assert_eq!(refusal(r#"{"auths": "s3cret"}"#), "auths is a string instead of an object");
    assert_eq!(refusal(r#"{"auths": {"q.io": "s3cret"}}"#), "auths.q.io is a string instead of an object");
    assert_eq!(
        refusal(r#"{"auths": {"q.io": {"auth": 53}}}"#),
        "auths.q.io.auth is a number instead of a string"
    );
    assert_eq!(
        refusal(r#"{"credHelpers": {"q.io": {}}}"#),
        "credHelpers.q.io is an object instead of a string"
    );
    assert_eq!(refusal("{\"auths\": s3cret}"), "invalid character at line 1, column 11");
    for also_refused in [
        r#"{"auths": {"q.io": 5, "q.io": {}}}"#,
        r#"{"auths": {"q.io": {"auth": 5, "auth": "dTpw"}}}"#,
        r#"{"credHelpers": []}"#,
        r#"{"Auths": []}"#,
    ] {
        assert!(AuthFile::parse(also_refused.as_bytes()).is_err(), "{also_refused}");
    }
    assert!(LegacyAuthFile::parse(b"x").is_err());
    assert!(matches!(LegacyAuthFile::parse(b"[]"), Err(DocumentError::Mismatch(_))));
}

#[test]
fn field_names_fold_and_maps_add_up() {
    let file = auth_file(
        r#"{"AUTHS": {"a.io": {"AUTH": "dTpw"}, "b.io": {"auth": "dTpw"}}, "authſ": {"b.io": {"identityToKen": "t"}}, "CREDHELPERS": {"h.io": "x"}}"#,
    );
    assert!(matches!(file.lookup("a.io"), Lookup::Found { .. }));
    assert_eq!(
        file.lookup("b.io"),
        Lookup::None { stopped_at: Some("b.io") },
        "the last of equal keys, whole"
    );
    assert_eq!(file.lookup("h.io"), Lookup::Helper { name: "x" });
    let dropped = auth_file(r#"{"auths": {"a.io": {"auth": "dTpw"}}, "auths": null}"#);
    assert_eq!(dropped.lookup("a.io"), Lookup::None { stopped_at: None });
    let kept = auth_file(r#"{"auths": {"a.io": {"auth": "dTpw", "Auth": null}}}"#);
    assert!(matches!(kept.lookup("a.io"), Lookup::Found { .. }), "null changes nothing");
}

#[test]
fn what_nobody_here_knows_survives_byte_for_byte() {
    let text = r#"{"psFormat": "a\u0062", "auths": {"q.io": {"auth": "dTpw", "x": [1.50, 1e999]}}, "n": 12345678901234567890123}"#;
    let rendered = Document::parse(text.as_bytes(), Format::Auths).unwrap().render();
    let rendered = String::from_utf8(rendered.into_exposed()).unwrap();
    assert_eq!(
        rendered,
        "{\n\t\"auths\": {\n\t\t\"q.io\": {\"auth\": \"dTpw\", \"x\": [1.50, 1e999]}\n\t},\n\t\"psFormat\": \"a\\u0062\",\n\t\"n\": 12345678901234567890123\n}\n"
    );
}

#[test]
fn neither_debug_nor_errors_show_a_secret() {
    let text =
        r#"{"auths": {"q.io": {"auth": "czNjcmV0OnMzY3JldA==", "password": "s3cret"}}, "token": "s3cret"}"#;
    let shown = format!("{:?} {:?}", auth_file(text), auth_file(text).lookup("q.io"));
    assert!(!shown.contains("s3cret") && !shown.contains("czNjcmV0"), "{shown}");
    let refused =
        format!("{:?}", AuthFile::parse(br#"{"auths": {"https://u:s3cret@q.io": 5}}"#).unwrap_err());
    assert!(!refused.contains("s3cret"), "{refused}");
}

/// Texts near to auth documents: wrong types, repeated names, odd case, odd characters.
pub(super) fn near_document() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "null",
        "5",
        "true",
        "[]",
        "\"\"",
        "\"dTpw\"",
        "\"dTp3\"",
        "\"dTpwOnE=\"",
        "\"dTpwOnE\"",
        "\"cGFudHM=\"",
        "\"Og==\"",
        "\"\\u0000\"",
    ]);
    let field =
        prop::sample::select(vec!["auth", "Auth", "identitytoken", "username", "password", "email", "x"]);
    let members = prop::collection::vec((field, scalar.clone()), 0..4).prop_map(|fields| {
        fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect::<Vec<_>>().join(",")
    });
    let entry = prop_oneof![9 => members.prop_map(|members| format!("{{{members}}}")), 1 => scalar.clone().prop_map(str::to_owned)];
    let key = prop::sample::select(vec![
        "q.io",
        "q.io/a",
        "q.io/a/b",
        "https://q.io/v1/",
        "http://q.io",
        "q.io/",
        "q.io.evil.com",
        "docker.io",
        "index.docker.io",
        "https://index.docker.io/v1/",
        "docker.io/library",
        "*.q.io",
        "q\\u002eio",
        "",
        "q.io/a\\ud800",
    ]);
    let entries = prop::collection::vec((key, entry), 0..5).prop_map(|entries| {
        entries.iter().map(|(key, entry)| format!("\"{key}\":{entry}")).collect::<Vec<_>>().join(",")
    });
    let host = prop::sample::select(vec!["q.io", "docker.io", "index.docker.io", "q.io.evil.com"]);
    let helpers = prop::collection::vec(
        (host, prop::sample::select(vec!["\"ecr\"", "\"\"", "null", "\"gcr\"", "1"])),
        0..2,
    )
    .prop_map(|helpers| {
        helpers.iter().map(|(host, name)| format!("\"{host}\":{name}")).collect::<Vec<_>>().join(",")
    });
    let member = prop_oneof![
        8 => (prop::sample::select(vec!["auths", "Auths", "auth\u{17f}"]), entries).prop_map(|(name, map)| format!("\"{name}\":{{{map}}}")),
        3 => (prop::sample::select(vec!["credHelpers", "CredHelpers"]), helpers).prop_map(|(name, map)| format!("\"{name}\":{{{map}}}")),
        1 => (prop::sample::select(vec!["auths", "credHelpers", "credsStore", "x"]), scalar).prop_map(|(name, value)| format!("\"{name}\": {value}")),
    ];
    prop::collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(",")))
}

proptest! {
    /// Rendering a document and reading it again gives the same document, whatever was in it.
    #[test]
    fn reading_what_was_rendered_gives_the_same(text in near_document()) {
        for format in [Format::Auths, Format::Legacy] {
            let Ok(document) = Document::parse(text.as_bytes(), format) else { continue };
            let rendered = document.render();
            let again = Document::parse(rendered.expose(), format).unwrap();
            prop_assert_eq!(again.render(), rendered);
            if document.mismatches().is_empty() {
                prop_assert_eq!(again, document);
            }
        }
    }

    /// Any bytes: reading never panics, and no refusal repeats a word of the text.
    #[test]
    fn reading_is_total(text in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = AuthFile::parse(&text);
        let _ = LegacyAuthFile::parse(&text);
    }
}
