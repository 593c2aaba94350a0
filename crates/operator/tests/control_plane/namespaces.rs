//! Labelled namespaces: who may read their pull secrets.

use serde_json::{Value, json};

use crate::steps::{of_kind, shown};
use crate::world::{Flavour, World, digest_mirror_set, eventually, operator_manifest};

const ACCESS: &str = "pullwright-pull-secrets";

fn namespace(world: &World, name: &str, labels: &Value, annotations: &Value) {
    world.apply_object(&json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
    }));
}

fn get(world: &World, kind: &str, namespace: &str) -> Option<Value> {
    world.plane.kubectl().json(&["get", kind, ACCESS, "--namespace", namespace]).ok()
}

/// Waits until Role and RoleBinding of a namespace grant exactly this.
fn wait_for_access(world: &World, namespace: &str, rules: &Value, accounts: &[&str]) {
    let subjects: Vec<Value> = accounts
        .iter()
        .map(|account| json!({"kind": "ServiceAccount", "name": account, "namespace": namespace}))
        .collect();
    eventually(&format!("access in {namespace}"), || {
        let role = get(world, "role", namespace).ok_or("no Role")?;
        let binding = get(world, "rolebinding", namespace).ok_or("no RoleBinding")?;
        let same = role["rules"] == *rules
            && binding["subjects"] == json!(subjects)
            && binding["roleRef"]["name"] == ACCESS
            && binding["roleRef"]["kind"] == "Role";
        if same { Ok(()) } else { Err(format!("{role:#}\n{binding:#}")) }
    });
}

fn named(secrets: &[&str]) -> Value {
    json!([{"apiGroups": [""], "resources": ["secrets"], "resourceNames": secrets, "verbs": ["get"]}])
}

#[test]
fn a_label_gives_the_plugin_access_where_the_operator_may() {
    let world = World::new("namespaces", Flavour::Plain);
    world.nodes(&["a"], "cri-o://1.36.3", "");
    let label = |value: &str| json!({"pullwright.dev/pull-access": value});
    namespace(&world, "all", &label("list"), &json!({}));
    let secrets = json!({"pullwright.dev/pull-secrets": "login,other", "pullwright.dev/service-accounts": "builder,default"});
    namespace(&world, "some", &label("named"), &secrets);
    namespace(&world, "foreign", &label("list"), &json!({}));
    namespace(&world, "without", &json!({}), &json!({}));
    let foreign = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": ACCESS, "namespace": "foreign"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    });
    world.apply_object(&foreign);
    let mark = world.mark();
    let replica = world.start("one", &[]);

    // Without the permission, everything else works.
    world.apply_object(&digest_mirror_set("vendor", "quay.io/vendor", &["mirror.local/vendor"]));
    world.wait_for_condition("imagedigestmirrorset", "vendor", "Applied", "True", "Applied");
    let writes = world.writes_until_rest(mark);
    let kinds = ["roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io"];
    assert!(kinds.iter().all(|kind| of_kind(&writes, kind).is_empty()), "{}", shown(&writes));
    assert_eq!(get(&world, "role", "all"), None);
    assert_eq!(replica.get("/readyz").unwrap().0, 200);

    // With it, access appears without a restart.
    world.apply(&operator_manifest("rbac-namespaces"));
    let list = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}]);
    wait_for_access(&world, "all", &list, &["default"]);
    wait_for_access(&world, "some", &named(&["login", "other"]), &["builder", "default"]);
    replica.wait_for_metric(
        "pullwright_operator_errors_total{controller=\"namespaces\",reason=\"ForeignObject\"}",
        |errors| errors > 0.5,
    );
    assert_eq!(get(&world, "role", "foreign").unwrap()["rules"], foreign["rules"]);
    assert_eq!(get(&world, "role", "without"), None);
    let writes = world.writes_until_rest(mark);
    assert!(of_kind(&writes, kinds[0]).len() == 2, "{}", shown(&writes));

    // Whatever is changed by hand is put back.
    let patch = r#"{"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}"#;
    world.kubectl(&["patch", "role", ACCESS, "--namespace=some", "--type=merge", "--patch", patch]);
    let patch = r#"{"subjects": [{"kind": "ServiceAccount", "name": "intruder", "namespace": "all"}]}"#;
    world.kubectl(&["patch", "rolebinding", ACCESS, "--namespace=some", "--type=merge", "--patch", patch]);
    world.kubectl(&["delete", "role", ACCESS, "--namespace=all"]);
    wait_for_access(&world, "all", &list, &["default"]);
    wait_for_access(&world, "some", &named(&["login", "other"]), &["builder", "default"]);

    // What cannot be granted is said, and changes nothing.
    let mark = world.mark();
    namespace(&world, "some", &label("named"), &json!({"pullwright.dev/pull-secrets": "Not A Name"}));
    let note = world.wait_for_event("Namespace", "some", "InvalidPullAccess");
    assert!(note.contains("Not A Name"), "{note}");
    let writes = world.writes_until_rest(mark);
    assert!(kinds.iter().all(|kind| of_kind(&writes, kind).is_empty()), "{}", shown(&writes));
    assert_eq!(get(&world, "role", "some").unwrap()["rules"], named(&["login", "other"]));
    // A wish that can be granted again is.
    namespace(&world, "some", &label("named"), &json!({"pullwright.dev/pull-secrets": "new"}));
    wait_for_access(&world, "some", &named(&["new"]), &["default"]);

    // Without the label, both go; what is not ours stays.
    for name in ["all", "some", "foreign"] {
        world.kubectl(&["label", "namespace", name, "pullwright.dev/pull-access-"]);
    }
    for name in ["all", "some"] {
        eventually(&format!("access to {name} to go"), || {
            let left = [get(&world, "role", name), get(&world, "rolebinding", name)];
            if left == [None, None] { Ok(()) } else { Err(format!("{left:?}")) }
        });
    }
    assert_eq!(get(&world, "role", "foreign").unwrap()["rules"], foreign["rules"]);
    assert!(!replica.process.log().text().contains("panicked"));
}
