//! The three kinds of mirror set. Every row of a pattern is asked for both kinds that have it, and of the engine, which
//! checks the kind that has none.

use pullwright_engine::mirrors::{
    MergeInputs, MirrorSet, MirrorSetKind, MirrorSetRule, RegistrySources, merge,
};
use serde_json::{Value, json};

use crate::row::{Answer, Row, check};
use crate::world::WORLD;

/// What a mirror may be, and so a source.
const PLACES: &[&str] = &[
    "registry.io",
    "registry",
    "localhost:5000",
    "REGISTRY.Example.COM",
    "10.0.0.1:5000",
    "a-b--c.io",
    "registry.io:99999",
    "registry.io/a",
    "registry.io/a/b/c/d",
    "registry.io:8080/a_b/c__d/e.f/g-h/i---j",
    "registry.io/0",
];

/// What a source may be and a mirror may not.
const WILDCARDS: &[&str] = &["*.registry.io", "*.io", "*.Registry.IO", "*.a.b.c-d"];

/// What neither may be.
const NONSENSE: &[&str] = &[
    "",
    "*",
    "*.",
    "*registry.io",
    "registry.*",
    "a.*.io",
    "*.*.io",
    "*.registry.io:5000",
    "*.registry.io/a",
    "registry.io/",
    "registry.io//a",
    "/a",
    "registry..io",
    ".registry.io",
    "registry.io.",
    "-registry.io",
    "registry-.io",
    "regis_try.io",
    "registry.io:",
    "registry.io:port",
    "registry.io/A",
    "registry.io/a:latest",
    "registry.io/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "registry.io/a..b",
    "registry.io/a___b",
    "registry.io/.a",
    "registry.io/a-",
    "registry.io/a b",
    " registry.io",
    "registry.io\n",
    "https://registry.io",
    "[::1]:5000",
    "rëgistry.io",
];

/// The kinds whose definitions have the patterns, with their lists.
const KINDS: [(&str, &str); 2] =
    [("ImageDigestMirrorSet", "imageDigestMirrors"), ("ImageTagMirrorSet", "imageTagMirrors")];

fn object(kind: &str, spec: &Value) -> Value {
    json!({"apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": {"name": "row"}, "spec": spec})
}

fn rows_of(claim: &str, answer: Answer, rule: &Value) -> impl Iterator<Item = Row> {
    KINDS.into_iter().map(move |(kind, list)| Row {
        claim: format!("{kind}: {claim}"),
        object: object(kind, &json!({list: [rule]})),
        answer,
    })
}

#[test]
fn a_source_matches_its_pattern() {
    let refused = Answer::Refused(&["Mirrors[0].source", "should match '^\\*(?:\\.(?:[a-zA-Z0-9]|"]);
    let good = PLACES.iter().chain(WILDCARDS).map(|source| (source, Answer::Accepted));
    let rows: Vec<_> = good
        .chain(NONSENSE.iter().map(|source| (source, refused)))
        .flat_map(|(source, answer)| {
            let rule = json!({"source": source, "mirrors": ["mirror.io"]});
            rows_of(&format!("source {source:?}"), answer, &rule).collect::<Vec<_>>()
        })
        .collect();
    check(&rows);
}

#[test]
fn a_mirror_matches_its_pattern() {
    let refused = Answer::Refused(&["Mirrors[0].mirrors[1]", "should match '^((?:[a-zA-Z0-9]|"]);
    let bad = WILDCARDS.iter().chain(NONSENSE).map(|mirror| (mirror, refused));
    let rows: Vec<_> = PLACES
        .iter()
        .map(|mirror| (mirror, Answer::Accepted))
        .chain(bad)
        .flat_map(|(mirror, answer)| {
            let rule = json!({"source": "source.io", "mirrors": ["mirror.io", mirror]});
            rows_of(&format!("mirror {mirror:?}"), answer, &rule).collect::<Vec<_>>()
        })
        .collect();
    check(&rows);
}

#[test]
fn the_engine_refuses_what_the_api_refuses() {
    let accepted = |source: &str, mirror: &str| {
        let rule =
            MirrorSetRule { source: source.to_owned(), mirrors: vec![mirror.to_owned()], policy: None };
        let set = MirrorSet {
            kind: MirrorSetKind::ImageContentSourcePolicy,
            name: "row".to_owned(),
            rules: vec![rule],
        };
        let merged = merge(&MergeInputs { sets: &[set], sources: &RegistrySources::default() });
        // What the API takes may still be of no use; only formats are compared here.
        let formats = ["mirrors/invalid-source", "mirrors/invalid-mirror"];
        !merged.verdicts[0].findings.iter().any(|finding| formats.contains(&finding.rule.name()))
    };
    for place in PLACES {
        assert!(accepted(place, "mirror.io") && accepted("source.io", place), "{place:?}");
    }
    for wildcard in WILDCARDS {
        assert!(accepted(wildcard, "mirror.io") && !accepted("source.io", wildcard), "{wildcard:?}");
    }
    for nonsense in NONSENSE {
        assert!(!accepted(nonsense, "mirror.io") && !accepted("source.io", nonsense), "{nonsense:?}");
    }
}

#[test]
fn the_shape_of_a_mirror_set_is_checked() {
    use Answer::{Accepted, Refused};
    let source = "registry.io";
    let rules = [
        ("no mirrors", Accepted, json!({"source": source})),
        ("an empty list of mirrors", Accepted, json!({"source": source, "mirrors": []})),
        ("mirrors that are null", Accepted, json!({"source": source, "mirrors": null})),
        ("the source as its own mirror", Accepted, json!({"source": source, "mirrors": [source]})),
        ("never the source", Accepted, json!({"source": source, "mirrorSourcePolicy": "NeverContactSource"})),
        (
            "also the source",
            Accepted,
            json!({"source": source, "mirrorSourcePolicy": "AllowContactingSource"}),
        ),
        (
            "another policy",
            Refused(&[
                "Mirrors[0].mirrorSourcePolicy: Unsupported value: \"Never\"",
                "supported values: \"NeverContactSource\", \"AllowContactingSource\"",
            ]),
            json!({"source": source, "mirrorSourcePolicy": "Never"}),
        ),
        ("no source", Refused(&["Mirrors[0].source: Required value"]), json!({"mirrors": ["mirror.io"]})),
        (
            "a mirror twice",
            Refused(&["Mirrors[0].mirrors[1]: Duplicate value: \"mirror.io\""]),
            json!({"source": source, "mirrors": ["mirror.io", "mirror.io"]}),
        ),
        (
            "a field that does not exist",
            Refused(&[
                "strict decoding error: unknown field \"spec.image",
                "Mirrors[0].mirrorByDigestOnly\"",
            ]),
            json!({"source": source, "mirrorByDigestOnly": true}),
        ),
    ];
    let mut rows: Vec<_> =
        rules.iter().flat_map(|(claim, answer, rule)| rows_of(claim, *answer, rule)).collect();
    for (kind, list) in KINDS {
        let row = |claim: &str, object, answer| Row { claim: format!("{kind}: {claim}"), object, answer };
        rows.push(row("the least", object(kind, &json!({})), Accepted));
        rows.push(row("a list that is null", object(kind, &json!({list: null})), Accepted));
        rows.push(row(
            "the same source twice",
            object(kind, &json!({list: [{"source": source}, {"source": source}]})),
            Accepted,
        ));
        rows.push(row(
            "the list of the enhancement's example",
            object(kind, &json!({"repositoryDigestMirrors": []})),
            Refused(&["unknown field \"spec.repositoryDigestMirrors\""]),
        ));
        let mut without = object(kind, &json!({}));
        without.as_object_mut().unwrap().remove("spec");
        rows.push(row("no spec", without, Refused(&["spec: Required value"])));
    }
    check(&rows);
}

#[test]
fn an_image_content_source_policy_may_hold_anything() {
    let policy = |spec: Value| {
        json!({
            "apiVersion": "operator.openshift.io/v1alpha1", "kind": "ImageContentSourcePolicy",
            "metadata": {"name": "row"}, "spec": spec,
        })
    };
    let row = |claim: &str, spec, answer| Row { claim: claim.to_owned(), object: policy(spec), answer };
    let mut rows = vec![
        row("the least", json!({}), Answer::Accepted),
        row("a list that is null", json!({"repositoryDigestMirrors": null}), Answer::Accepted),
        row(
            "a mirror twice",
            json!({"repositoryDigestMirrors": [{"source": "a", "mirrors": ["b", "b"]}]}),
            Answer::Accepted,
        ),
        row(
            "no source",
            json!({"repositoryDigestMirrors": [{"mirrors": ["b"]}]}),
            Answer::Refused(&["spec.repositoryDigestMirrors[0].source: Required value"]),
        ),
    ];
    for nonsense in NONSENSE {
        let rule = json!({"source": nonsense, "mirrors": [nonsense]});
        rows.push(row(nonsense, json!({"repositoryDigestMirrors": [rule]}), Answer::Accepted));
    }
    check(&rows);
}

#[test]
fn who_writes_an_image_content_source_policy_is_told_what_replaces_it() {
    let policy = json!({
        "apiVersion": "operator.openshift.io/v1alpha1", "kind": "ImageContentSourcePolicy",
        "metadata": {"name": "row"}, "spec": {},
    });
    // What kubectl would only mention, this flag makes a failure.
    let message = WORLD.with(&["create", "--dry-run=server", "--warnings-as-errors"], &policy).unwrap_err();
    assert!(message.contains("`pullwright migrate icsp` makes it"), "{message}");
}
