//! Server-side apply by several writers: what is one decision conflicts, what is a collection is united.

use serde_json::{Value, json};

use crate::world::WORLD;

fn mirror_set(rules: &Value) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ImageTagMirrorSet", "metadata": {"name": "shared"},
        "spec": {"imageTagMirrors": rules},
    })
}

#[test]
fn rules_of_two_writers_never_mix() {
    let first = json!([{"source": "a.io", "mirrors": ["one.io"]}]);
    WORLD.apply_as("first", &mirror_set(&first)).unwrap();
    let second = mirror_set(&json!([{"source": "b.io", "mirrors": ["two.io"]}]));
    let message = WORLD.apply_as("second", &second).unwrap_err();
    assert!(message.contains("conflict with \"first\": .spec.imageTagMirrors"), "{message}");
    assert_eq!(WORLD.get("itms", "shared")["spec"]["imageTagMirrors"], first);

    // Agreeing is no conflict, and what two agree on stays while one of them does.
    WORLD.apply_as("second", &mirror_set(&first)).unwrap();
    let let_go = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ImageTagMirrorSet", "metadata": {"name": "shared"}, "spec": {},
    });
    WORLD.apply_as("first", &let_go).unwrap();
    assert_eq!(WORLD.get("itms", "shared")["spec"]["imageTagMirrors"], first);
}

#[test]
fn two_controllers_keep_a_condition_each() {
    let object = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet", "metadata": {"name": "conditions"},
        "spec": {},
    });
    WORLD.apply_as("user", &object).unwrap();
    let condition = |kind: &str| {
        let mut object = object.clone();
        object["status"] = json!({"conditions": [{
            "type": kind, "status": "True", "reason": "Merged", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]});
        object
    };
    for kind in ["Applied", "Delivered"] {
        let arguments = ["apply", "--server-side", "--subresource=status", "--field-manager", kind];
        WORLD.with(&arguments, &condition(kind)).unwrap();
    }
    let stored = WORLD.get("idms", "conditions");
    let kinds: Vec<_> =
        stored["status"]["conditions"].as_array().unwrap().iter().map(|one| &one["type"]).collect();
    assert_eq!(kinds, ["Applied", "Delivered"]);
}
