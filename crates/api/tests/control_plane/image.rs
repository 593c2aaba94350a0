//! `Image`, the part that meets mirrors: `registrySources`.

use serde_json::{Value, json};

use crate::row::{Answer, Row, check};
use crate::world::WORLD;

const LISTS: [&str; 3] = ["insecureRegistries", "blockedRegistries", "allowedRegistries"];

fn image(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "config.openshift.io/v1", "kind": "Image", "metadata": {"name": name}, "spec": spec})
}

fn row(claim: &str, sources: &Value, answer: Answer) -> Row {
    Row { claim: claim.to_owned(), object: image("row", &json!({"registrySources": sources})), answer }
}

#[test]
fn a_registry_matches_the_pattern_of_a_source() {
    let format = "each registry must be a valid hostname[:port][/path] or wildcard *.hostname format without tags or digests";
    let wrong = [
        ("I1 a tag", "registry.io/myrepo:latest"),
        ("I2 a digest", "registry.io/myrepo@sha256:abc123"),
        ("I3 nothing", ""),
        ("a wildcard with a path", "*.registry.io/a"),
        ("upper case in a path", "registry.io/A"),
    ];
    let mut rows = Vec::new();
    for (list, place) in LISTS.into_iter().zip([
        "spec.registrySources.insecureRegistries[0]",
        "spec.registrySources.blockedRegistries[0]",
        "spec.registrySources.allowedRegistries[0]",
    ]) {
        for (claim, registry) in wrong {
            let object = image("row", &json!({"registrySources": {list: [registry]}}));
            let message = WORLD.check(&object).unwrap_err();
            assert!(message.contains(place) && message.contains(format), "{list}: {claim}: {message}");
        }
        let long = "a".repeat(257);
        rows.push(row(
            &format!("{list}: 257 characters"),
            &json!({list: [long]}),
            Answer::Refused(&["may not be more than 256"]),
        ));
        let many: Vec<_> = (0..1025).map(|n| format!("registry-{n}.io")).collect();
        rows.push(row(
            &format!("{list}: 1025 registries"),
            &json!({list: many}),
            Answer::Refused(&["must have at most 1024 items"]),
        ));
        let good = ["registry.io", "registry.io/myrepo", "*.example.com", "localhost:5000/repo"];
        rows.push(row(
            &format!("{list}: what OpenShift's tests take"),
            &json!({list: good}),
            Answer::Accepted,
        ));
        rows.push(row(&format!("{list}: none"), &json!({list: []}), Answer::Accepted));
    }
    check(&rows);
}

#[test]
fn blocked_and_allowed_exclude_each_other() {
    let both = Answer::Refused(&[
        "spec.registrySources",
        "Only one of blockedRegistries or allowedRegistries may be set",
    ]);
    let blocked = json!({
        "blockedRegistries": ["registry.io", "registry.io/myrepo", "*.example.com", "localhost:5000/repo"],
        "insecureRegistries": ["insecure.registry.io", "*.insecure.example.com"],
    });
    check(&[
        row("I4", &blocked, Answer::Accepted),
        row("both", &json!({"blockedRegistries": ["a"], "allowedRegistries": ["b"]}), both),
        row("both, one empty", &json!({"blockedRegistries": ["a"], "allowedRegistries": []}), both),
        row(
            "both, one null",
            &json!({"blockedRegistries": ["a"], "allowedRegistries": null}),
            Answer::Accepted,
        ),
    ]);
    for (name, before) in [("i5-blocked", "blockedRegistries"), ("i5-allowed", "allowedRegistries")] {
        WORLD.with(&["create"], &image(name, &json!({"registrySources": {before: ["test"]}}))).unwrap();
        let after =
            json!({"registrySources": {"blockedRegistries": ["test"], "allowedRegistries": ["test"]}});
        let message = WORLD.apply_as("tests", &image(name, &after)).unwrap_err();
        assert!(
            message.contains("Only one of blockedRegistries or allowedRegistries may be set"),
            "I5 {message}"
        );
    }
}

#[test]
fn registries_to_search_are_a_set() {
    check(&[
        row("two", &json!({"containerRuntimeSearchRegistries": ["quay.io", "docker.io"]}), Answer::Accepted),
        row(
            "none",
            &json!({"containerRuntimeSearchRegistries": []}),
            Answer::Refused(&["should have at least 1 items"]),
        ),
        row(
            "one twice",
            &json!({"containerRuntimeSearchRegistries": ["quay.io", "quay.io"]}),
            Answer::Refused(&["Duplicate value"]),
        ),
    ]);
}

#[test]
fn a_manifest_made_for_openshift_keeps_all_it_says() {
    let spec = json!({
        "additionalTrustedCA": {"name": "registry-cas"},
        "allowedRegistriesForImport": [{"domainName": "quay.io", "insecure": false}, {"domainName": "*.example.com"}],
        "externalRegistryHostnames": ["registry.example.com"],
        "imageStreamImportMode": "PreserveOriginal",
        "registrySources": {"insecureRegistries": ["insecure.io"]},
    });
    WORLD.with(&["create"], &image("cluster", &spec)).unwrap();
    assert_eq!(WORLD.get("image.config.openshift.io", "cluster")["spec"], spec);
}

/// Both readers of manifests refuse these (`both_readers_agree_about_images` and its siblings), because the API server does.
#[test]
fn wrong_types_are_refused_wherever_they_stand() {
    let labelled = |kind: &str, metadata: &Value| {
        let mut object = image("row", &json!({}));
        object["kind"] = json!(kind);
        object["metadata"] = metadata.clone();
        object
    };
    let mut rows = Vec::new();
    for kind in ["Image", "ImageDigestMirrorSet", "ImageTagMirrorSet"] {
        for field in ["labels", "annotations"] {
            rows.push(Row {
                claim: format!("{kind}: {field} that are not texts"),
                object: labelled(kind, &json!({"name": "row", field: {"number": 1}})),
                answer: Answer::Refused(&["cannot unmarshal number into Go struct field"]),
            });
        }
    }
    for (field, wrong) in [("additionalTrustedCA", json!("text")), ("allowedRegistriesForImport", json!({}))]
    {
        rows.push(Row {
            claim: format!("Image: {field} of another type"),
            object: image("row", &json!({field: wrong})),
            answer: Answer::Refused(&["in body must be of type"]),
        });
    }
    check(&rows);
}
