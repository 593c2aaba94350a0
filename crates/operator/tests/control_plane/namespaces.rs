//! Labelled namespaces: who may read their pull secrets.

use pullwright_testkit::kubectl::Kubectl;
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
    let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/{kind}s/{ACCESS}");
    world.plane.read(&path).ok().flatten()
}

/// Waits until Role and `RoleBinding` of a namespace grant exactly this.
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

/// Whoever has the operator's token still cannot grant more than what the operator grants.
fn the_operator_may_write_nothing_else(world: &World) {
    let account = ("pullwright-system", "pullwright-operator");
    let kubeconfig = world.plane.service_account_kubeconfig(account.0, account.1, None).unwrap();
    let operator = Kubectl::new(&kubeconfig);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": ACCESS, "namespace": "without"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "get"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": ACCESS, "namespace": "without"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ACCESS},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "some"}],
    });
    for object in [role, binding] {
        let error = operator.apply(&object.to_string()).unwrap_err().to_string();
        assert!(error.contains("the operator may only"), "{error}");
    }
    let error = operator.run(&["get", "secrets", "--namespace=some"]).unwrap_err().to_string();
    assert!(error.contains("forbidden"), "{error}");
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
    assert_eq!(get(&world, "rolebinding", "foreign"), None, "nobody is bound to what somebody else grants");
    assert_eq!(get(&world, "role", "without"), None);
    let log = replica.process.log().text();
    assert!(log.contains("create Role foreign/pullwright-pull-secrets: "), "it says where: {log}");
    let writes = world.writes_since(mark);
    assert!(of_kind(&writes, kinds[0]).len() == 2, "{}", shown(&writes));
    world.kubectl(&["delete", "role", ACCESS, "--namespace=foreign"]);
    wait_for_access(&world, "foreign", &list, &["default"]);

    // Whatever is changed by hand is put back.
    let patch = r#"{"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}"#;
    world.kubectl(&["patch", "role", ACCESS, "--namespace=some", "--type=merge", "--patch", patch]);
    let patch = r#"{"subjects": [{"kind": "ServiceAccount", "name": "intruder", "namespace": "all"}]}"#;
    world.kubectl(&["patch", "rolebinding", ACCESS, "--namespace=some", "--type=merge", "--patch", patch]);
    world.kubectl(&["delete", "role", ACCESS, "--namespace=all"]);
    wait_for_access(&world, "all", &list, &["default"]);
    wait_for_access(&world, "some", &named(&["login", "other"]), &["builder", "default"]);

    the_operator_may_write_nothing_else(&world);

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

    // Without the label, both go; what was handed over stays.
    world.kubectl(&["label", "role", ACCESS, "--namespace=foreign", "app.kubernetes.io/managed-by-"]);
    for name in ["all", "some", "foreign"] {
        world.kubectl(&["label", "namespace", name, "pullwright.dev/pull-access-"]);
    }
    let gone = [
        ("role", "all"),
        ("role", "some"),
        ("rolebinding", "all"),
        ("rolebinding", "some"),
        ("rolebinding", "foreign"),
    ];
    for (kind, name) in gone {
        eventually(&format!("the {kind} in {name} to go"), || match get(&world, kind, name) {
            None => Ok(()),
            Some(left) => Err(format!("{left:#}")),
        });
    }
    assert_eq!(get(&world, "role", "foreign").unwrap()["rules"], list);
    assert!(!replica.process.log().text().contains("panicked"));
}
