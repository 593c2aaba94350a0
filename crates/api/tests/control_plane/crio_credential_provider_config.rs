//! `CRIOCredentialProviderConfig`, in both versions.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::row::{Answer, Row, check};
use crate::world::WORLD;

/// Whoever has this is the only one to whom the one object matters: while it is stored, no other can be created.
static ONE_OBJECT: Mutex<()> = Mutex::new(());

const VERSIONS: [&str; 2] = ["v1", "v1alpha1"];

const INVALID: Answer = Answer::Refused(&[
    "spec.matchImages[0]: Invalid value:",
    "invalid matchImages value, must be a valid fully qualified domain name in lowercase with optional wildcard, port, and path",
]);

fn object(version: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("config.openshift.io/{version}"), "kind": "CRIOCredentialProviderConfig",
        "metadata": {"name": name}, "spec": spec,
    })
}

fn images(images: &[&str]) -> Value {
    json!({"matchImages": images})
}

fn check_in_both_versions(rows: &[(&str, Value, Answer)]) {
    let _alone = ONE_OBJECT.lock().unwrap_or_else(PoisonError::into_inner);
    let rows: Vec<_> = VERSIONS
        .iter()
        .flat_map(|version| {
            rows.iter().map(move |(claim, spec, answer)| Row {
                claim: format!("{version}: {claim}"),
                object: object(version, "cluster", spec),
                answer: *answer,
            })
        })
        .collect();
    check(&rows);
}

#[test]
fn the_rows_of_openshifts_own_tests() {
    let good = [
        "123456789.dkr.ecr.us-east-1.amazonaws.com",
        "*.azurecr.io",
        "gcr.io",
        "*.*.registry.io",
        "registry.io:8080/path",
    ];
    check_in_both_versions(&[
        ("C1", json!({}), Answer::Accepted),
        ("C2", images(&good), Answer::Accepted),
        ("C3", images(&["reg!stry.io"]), INVALID),
        ("C4", images(&["Registry.COM"]), INVALID),
        ("C5", images(&["registry.io/PaTh"]), INVALID),
        ("C6", images(&["registry.io:8080/pa*th"]), INVALID),
        ("C7", images(&["example.app*.com"]), INVALID),
        (
            "C8",
            images(&["*"]),
            Answer::Refused(&["spec.matchImages[0]: Invalid value:", "global wildcard '*' is not allowed"]),
        ),
        (
            "an empty image",
            images(&[""]),
            Answer::Refused(&["spec.matchImages[0]", "should be at least 1 chars long"]),
        ),
    ]);
}

#[test]
fn the_patterns_of_images() {
    let good = [
        "*:5000",
        "*/x",
        "*.*",
        "k8s.*",
        "localhost",
        "registry.io/",
        "registry.io//a",
        "registry.io:99999",
        "10.0.0.1:5000",
        "a-b.io/c-d_e.f",
    ];
    let bad = [
        "foo..bar",
        "foo_bar.io",
        "-a.io",
        "a-.io",
        "registry.io:",
        "registry.io/a:tag",
        "registry.io/a b",
        "[::1]:5000",
        "https://registry.io",
        "registry.io/a@sha256",
        ".io",
        "**.io",
        "registry.io:*",
    ];
    let rows: Vec<_> = good
        .iter()
        .map(|&image| (image, images(&[image]), Answer::Accepted))
        .chain(bad.iter().map(|&image| (image, images(&[image]), INVALID)))
        .collect();
    check_in_both_versions(&rows);
}

#[test]
fn the_sizes_of_the_list() {
    let many = |count: usize| json!({"matchImages": (0..count).map(|n| format!("registry-{n}.io")).collect::<Vec<_>>()});
    let long = |length: usize| json!({"matchImages": [format!("registry.io/{}", "a".repeat(length - 12))]});
    check_in_both_versions(&[
        ("null is none", json!({"matchImages": null}), Answer::Accepted),
        (
            "an empty list",
            json!({"matchImages": []}),
            Answer::Refused(&["spec.matchImages", "should have at least 1 items"]),
        ),
        ("50 images", many(50), Answer::Accepted),
        (
            "51 images",
            many(51),
            Answer::Refused(&["spec.matchImages: Too many: 51: must have at most 50 items"]),
        ),
        ("512 characters", long(512), Answer::Accepted),
        (
            "513 characters",
            long(513),
            Answer::Refused(&["spec.matchImages[0]: Too long: may not be more than 512"]),
        ),
        (
            "an image twice",
            images(&["a.io", "a.io"]),
            Answer::Refused(&["spec.matchImages[1]: Duplicate value: \"a.io\""]),
        ),
    ]);
}

#[test]
fn there_is_one_object() {
    let singleton =
        Answer::Refused(&["criocredentialproviderconfig is a singleton, .metadata.name must be 'cluster'"]);
    let rows = VERSIONS.map(|version| Row {
        claim: version.to_owned(),
        object: object(version, "other", &json!({})),
        answer: singleton,
    });
    check(&rows);
}

#[test]
fn both_versions_are_one_object_with_a_status_that_is_never_empty() {
    let _alone = ONE_OBJECT.lock().unwrap_or_else(PoisonError::into_inner);
    WORLD.with(&["create"], &object("v1alpha1", "cluster", &images(&["*.azurecr.io", "gcr.io"]))).unwrap();
    let stored = WORLD.get("criocredentialproviderconfigs.v1.config.openshift.io", "cluster");
    assert_eq!(stored["apiVersion"], "config.openshift.io/v1");
    assert_eq!(stored["spec"], images(&["*.azurecr.io", "gcr.io"]));

    let second = object("v1", "cluster", &images(&["quay.io"]));
    WORLD.apply_as("second", &second).unwrap();
    let stored = WORLD.get("criocredentialproviderconfigs.v1alpha1.config.openshift.io", "cluster");
    assert_eq!(stored["apiVersion"], "config.openshift.io/v1alpha1");
    assert_eq!(stored["spec"], images(&["*.azurecr.io", "gcr.io", "quay.io"]), "a set, to which both add");

    let status = |status: &Value| {
        let patch = json!({"status": status}).to_string();
        let arguments =
            ["criocredentialproviderconfig", "cluster", "--subresource=status", "--type=merge", "--patch"];
        WORLD.kubectl(&[&["patch"], &arguments[..], &[&patch]].concat())
    };
    let condition = |change: (&str, Value)| {
        let mut condition = json!({
            "type": "Validated", "status": "True", "reason": "Succeeded", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
        });
        condition[change.0] = change.1;
        condition
    };
    let good = condition(("message", json!("")));
    let refused = [
        (json!({}), "should have at least 1 properties"),
        (json!({"conditions": []}), "should have at least 1 items"),
        (json!({"conditions": [good, good]}), "status.conditions[1]: Duplicate value"),
        (json!({"conditions": [condition(("reason", json!("not a word")))]}), "status.conditions[0].reason"),
        (json!({"conditions": [condition(("reason", json!("")))]}), "status.conditions[0].reason"),
        (json!({"conditions": [condition(("type", json!("not a word")))]}), "status.conditions[0].type"),
        (
            json!({"conditions": [condition(("status", json!("Perhaps")))]}),
            "status.conditions[0].status: Unsupported value",
        ),
        (json!({"conditions": [condition(("observedGeneration", json!(-1)))]}), "greater than or equal to 0"),
        (json!({"conditions": [{"type": "Validated"}]}), "status.conditions[0].reason: Required value"),
    ];
    for (wrong, part) in refused {
        let message = status(&wrong).unwrap_err();
        assert!(message.contains(part), "{wrong}: {message}");
    }
    status(&json!({"conditions": [good]})).unwrap();
    let stored = WORLD.get("criocredentialproviderconfig", "cluster");
    assert_eq!(stored["status"]["conditions"][0], good);
    WORLD.kubectl(&["delete", "criocredentialproviderconfig", "cluster"]).unwrap();
}
