//! What was stored before a rule came: it may stay as it is, and whoever changes it must put it right.
//!
//! The rules come and go in copies of the definitions in another group, so that no other test meets them.

use std::time::{Duration, Instant};

use pullwright_api::crds;
use serde_json::{Value, json};

use crate::world::WORLD;

/// A copy of a definition in a group of its own.
fn copy(kind: &str, group: &str) -> Value {
    let definitions = crds::definitions().unwrap();
    let definition = definitions.iter().find(|definition| definition.spec.names.kind == kind).unwrap();
    let text = serde_json::to_string(definition).unwrap().replace("config.openshift.io", group);
    serde_json::from_str(&text).unwrap()
}

/// The same without these rules, wherever they stand.
fn without(mut value: Value, rules: &[&str]) -> Value {
    match &mut value {
        Value::Object(members) => {
            members.retain(|name, _| !rules.contains(&name.as_str()));
            members.values_mut().for_each(|member| *member = without(member.take(), rules));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without(item.take(), rules)),
        _ => {}
    }
    value
}

/// The API server takes a moment to go by a changed definition.
fn until_refused(object: &Value) {
    let begun = Instant::now();
    while WORLD.check(object).is_ok() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the rules are still not in effect");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_mirror_set_from_before_the_pattern_can_be_relabelled_and_mended() {
    let group = "ratcheting.mirrors.test";
    let definition = copy("ImageDigestMirrorSet", group);
    WORLD.define(&without(definition.clone(), &["pattern"]).to_string());
    let object = |name: &str, sources: &[&str], labels: Value| {
        let rules: Vec<_> =
            sources.iter().map(|source| json!({"source": source, "mirrors": ["mirror.io"]})).collect();
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ImageDigestMirrorSet",
            "metadata": {"name": name, "labels": labels}, "spec": {"imageDigestMirrors": rules},
        })
    };
    let old = ["https://registry.io"];
    WORLD.apply_as("tests", &object("old", &old, json!({}))).unwrap();
    WORLD.define(&definition.to_string());
    until_refused(&object("new", &old, json!({})));

    WORLD.apply_as("tests", &object("old", &old, json!({"team": "a"}))).unwrap();
    let message =
        WORLD.apply_as("tests", &object("old", &["https://registry.io", "quay.io"], json!({}))).unwrap_err();
    assert!(message.contains("spec.imageDigestMirrors[0].source"), "the list is atomic: {message}");
    WORLD.apply_as("tests", &object("old", &["registry.io", "quay.io"], json!({}))).unwrap();
}

#[test]
fn an_image_from_before_the_rules_can_be_edited_elsewhere() {
    let group = "ratcheting.images.test";
    let definition = copy("Image", group);
    WORLD.define(&without(definition.clone(), &["x-kubernetes-validations", "minLength"]).to_string());
    let object = |name: &str, sources: &Value, hostnames: &[&str]| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "Image", "metadata": {"name": name},
            "spec": {"registrySources": sources, "externalRegistryHostnames": hostnames},
        })
    };
    let tagged = json!({"blockedRegistries": ["registry.io/myrepo:latest"]});
    let empty = json!({"insecureRegistries": [""]});
    let both = json!({"blockedRegistries": ["test"], "allowedRegistries": ["test"]});
    let old = [("tagged", &tagged), ("empty", &empty), ("both", &both)];
    for (name, sources) in old {
        WORLD.apply_as("tests", &object(name, sources, &[])).unwrap();
    }
    WORLD.define(&definition.to_string());
    for (_, sources) in old {
        until_refused(&object("new", sources, &[]));
    }

    for (name, sources) in old {
        WORLD.apply_as("tests", &object(name, sources, &["registry.example.com"])).unwrap();
    }
    let appended = json!({"blockedRegistries": ["registry.io/myrepo:latest", "valid.registry.io"]});
    let message = WORLD.apply_as("tests", &object("tagged", &appended, &[])).unwrap_err();
    assert!(message.contains("spec.registrySources.blockedRegistries"), "the list is atomic: {message}");
    let more = json!({"blockedRegistries": ["test", "test2"], "allowedRegistries": ["test"]});
    let message = WORLD.apply_as("tests", &object("both", &more, &[])).unwrap_err();
    assert!(message.contains("Only one of blockedRegistries or allowedRegistries may be set"), "{message}");
    WORLD.apply_as("tests", &object("both", &json!({"allowedRegistries": ["test"]}), &[])).unwrap();
}
