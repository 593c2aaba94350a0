//! The manifests below `deploy/operator`: the API server takes them, and the operator can do what it needs and no more.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use pullwright_api::access::{NAME, PullAccess, PullSecrets};
use serde_json::{Value, json, to_value};

use crate::world::WORLD;

const OPERATOR: &str = "--as=system:serviceaccount:pullwright-system:pullwright-operator";

fn manifests() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/operator");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Done once: everything below `deploy/operator` is applied, the namespace first. Permissions count only after a moment.
static APPLIED: LazyLock<()> = LazyLock::new(|| {
    let (namespace, others): (Vec<_>, Vec<_>) =
        manifests().into_iter().partition(|file| file.ends_with("namespace.yaml"));
    for file in namespace.into_iter().chain(others) {
        WORLD.kubectl(&["apply", "--server-side", "--filename", file.to_str().unwrap()]).unwrap();
    }
    let begun = Instant::now();
    for question in
        ["update leases.coordination.k8s.io/pullwright-operator --namespace=pullwright-system", "list nodes"]
    {
        while !may(question) {
            assert!(begun.elapsed() < Duration::from_secs(30), "the operator may not {question}");
            sleep(Duration::from_millis(100));
        }
    }
});

/// What the API server answers if the operator asks whether it may do something.
fn may(question: &str) -> bool {
    let arguments: Vec<_> = question.split(' ').collect();
    match WORLD.kubectl(&[&["auth", "can-i", OPERATOR], &arguments[..]].concat()) {
        Ok(answer) => answer.trim() == "yes",
        Err(message) => {
            // `no` has an exit code of its own, and so has a question that cannot be asked.
            let answered = message.contains(": no\n") && !message.contains("error:");
            assert!(answered && !message.contains("doesn't have a resource type"), "{question}: {message}");
            false
        }
    }
}

fn apply_as_operator(object: &Value) -> Result<String, String> {
    WORLD.with(&["apply", "--server-side", "--field-manager=pullwright-operator", OPERATOR], object)
}

#[test]
fn the_api_server_takes_every_manifest() {
    LazyLock::force(&APPLIED);
    let files = manifests();
    assert_eq!(files.len(), 5, "{files:?}");
    for file in files {
        let arguments = ["apply", "--server-side", "--dry-run=server", "--filename", file.to_str().unwrap()];
        WORLD.kubectl(&arguments).unwrap();
    }
}

/// A Deployment is taken in any case. Its Pods are what the namespace's Pod Security Standard is about.
#[test]
fn the_namespace_takes_the_pods_of_the_deployment() {
    LazyLock::force(&APPLIED);
    let deployment = WORLD.kubectl(&[
        "get",
        "deployment",
        "pullwright-operator",
        "--namespace=pullwright-system",
        "--output=json",
    ]);
    let deployment: Value = serde_json::from_str(&deployment.unwrap()).unwrap();
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": "pullwright-system"},
        "spec": deployment["spec"]["template"]["spec"],
    });
    WORLD.check(&pod).unwrap();
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = json!(true);
    let message = WORLD.check(&pod).unwrap_err();
    assert!(message.contains("violates PodSecurity \"restricted:latest\""), "{message}");
}

#[test]
fn the_operator_can_do_what_it_needs_and_no_more() {
    LazyLock::force(&APPLIED);
    let mut wrong = Vec::new();
    let mut check = |question: String, expected: bool| {
        if may(&question) != expected {
            wrong.push(format!("{question}: {}", if expected { "refused" } else { "allowed" }));
        }
    };
    let written_by_users = [
        "images.config.openshift.io",
        "imagedigestmirrorsets.config.openshift.io",
        "imagetagmirrorsets.config.openshift.io",
        "imagecontentsourcepolicies.operator.openshift.io",
        "criocredentialproviderconfigs.config.openshift.io",
    ];
    for kind in written_by_users {
        check(format!("watch {kind}"), true);
        check(format!("patch {kind} --subresource=status"), !kind.starts_with("images."));
        check(format!("get customresourcedefinitions/{kind}"), true);
        check(format!("patch {kind}"), false);
    }
    for question in [
        "list nodes",
        "create nodeconfigurations.pullwright.dev",
        "delete nodeconfigurations.pullwright.dev",
        "watch nodestates.pullwright.dev",
        "create nodestates.pullwright.dev",
        "patch nodestates.pullwright.dev",
        "delete nodestates.pullwright.dev",
        "create events.events.k8s.io --namespace=default",
        "create leases.coordination.k8s.io --namespace=pullwright-system",
        "update leases.coordination.k8s.io/pullwright-operator --namespace=pullwright-system",
        "watch namespaces",
        "bind roles.rbac.authorization.k8s.io/pullwright-pull-secrets --namespace=default",
    ] {
        check(question.to_owned(), true);
    }
    for question in [
        "get secrets --namespace=pullwright-system",
        "list secrets --namespace=kube-system",
        "list customresourcedefinitions",
        "get customresourcedefinitions/nodestates.pullwright.dev",
        "patch nodes",
        "patch nodes --subresource=status",
        "update nodeconfigurations.pullwright.dev",
        "patch nodestates.pullwright.dev --subresource=status",
        "deletecollection nodestates.pullwright.dev",
        "update leases.coordination.k8s.io/another --namespace=pullwright-system",
        "update leases.coordination.k8s.io/pullwright-operator --namespace=default",
        "create leases.coordination.k8s.io --namespace=default",
        "create pods --namespace=pullwright-system",
        "create serviceaccounts --subresource=token --namespace=pullwright-system",
        "patch namespaces",
        "list roles.rbac.authorization.k8s.io",
        "create roles.rbac.authorization.k8s.io --namespace=default",
        "escalate roles.rbac.authorization.k8s.io/another --namespace=default",
        "escalate clusterroles.rbac.authorization.k8s.io/pullwright-pull-secrets",
        "bind clusterroles.rbac.authorization.k8s.io/pullwright-pull-secrets",
        "patch validatingadmissionpolicies.admissionregistration.k8s.io/pullwright-operator-roles",
    ] {
        check(question.to_owned(), false);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// With a definition of our own, since the real one is OpenShift's.
#[test]
fn the_operator_writes_its_own_machine_configs_and_no_other() {
    LazyLock::force(&APPLIED);
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "machineconfigs.machineconfiguration.openshift.io"},
        "spec": {
            "group": "machineconfiguration.openshift.io", "scope": "Cluster",
            "names": {"plural": "machineconfigs", "singular": "machineconfig", "kind": "MachineConfig", "listKind": "MachineConfigList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    });
    WORLD.define(&definition.to_string());
    let object =
        |pool| to_value(pullwright_api::openshift::machine_config(pool, [("/etc/a", 0o644, "a")])).unwrap();
    apply_as_operator(&object("worker")).unwrap();
    WORLD.kubectl(&["get", "machineconfigs", OPERATOR]).unwrap();
    let message = apply_as_operator(&object("other")).unwrap_err();
    assert!(message.contains("cannot patch resource \"machineconfigs\""), "{message}");
    WORLD.kubectl(&["delete", "machineconfigs", "99-worker-pullwright", OPERATOR]).unwrap();
}

/// A namespace of a test's own, and access to its Secrets.
fn access(namespace: &str, secrets: PullSecrets) -> PullAccess {
    PullAccess::new(namespace.parse().unwrap(), secrets, ["default".to_owned()].into()).unwrap()
}

fn named(names: &[&str]) -> PullSecrets {
    PullSecrets::Named(names.iter().map(|&name| name.to_owned()).collect())
}

fn create_namespace(name: &str) {
    WORLD.kubectl(&["create", "namespace", name]).unwrap();
}

#[test]
fn the_operator_writes_the_role_and_the_binding_of_a_namespace() {
    LazyLock::force(&APPLIED);
    create_namespace("written");
    for secrets in [named(&["a"]), named(&["a", "b"]), PullSecrets::All] {
        let access = access("written", secrets);
        apply_as_operator(&to_value(access.role()).unwrap()).unwrap();
        apply_as_operator(&to_value(access.role_binding()).unwrap()).unwrap();
    }
    let account = "--as=system:serviceaccount:written:default";
    WORLD.kubectl(&["auth", "can-i", account, "list", "secrets", "--namespace=written"]).unwrap();

    let kinds = "roles,rolebindings";
    let selector = format!("--field-selector=metadata.name={NAME}");
    let listed = WORLD.kubectl(&["get", kinds, "--all-namespaces", &selector, OPERATOR]).unwrap();
    assert_eq!(listed.matches("written").count(), 2, "{listed}");
    let message = WORLD.kubectl(&["get", kinds, "--all-namespaces", OPERATOR]).unwrap_err();
    assert!(message.contains("cannot list resource \"roles\""), "{message}");
    WORLD.kubectl(&["delete", kinds, NAME, "--namespace=written", OPERATOR]).unwrap();
}

#[test]
fn the_operator_writes_no_other_role() {
    LazyLock::force(&APPLIED);
    create_namespace("refused");
    let role = to_value(access("refused", named(&["a"])).role()).unwrap();

    let mut another = role.clone();
    another["metadata"]["name"] = json!("another");
    let message = apply_as_operator(&another).unwrap_err();
    assert!(message.contains("cannot patch resource \"roles\""), "{message}");
    // Not even under its own name: a POST is authorized without one.
    let message = WORLD.with(&["create", OPERATOR], &role).unwrap_err();
    assert!(message.contains("cannot create resource \"roles\""), "{message}");

    let with = |change: (&str, Value)| {
        let mut role = role.clone();
        role["rules"][0][change.0] = change.1;
        role
    };
    let mut two_rules = role.clone();
    two_rules["rules"] = json!([role["rules"][0], role["rules"][0]]);
    let mut no_rules = role.clone();
    no_rules["rules"] = json!([]);
    let mut list_by_name = with(("verbs", json!(["list"])));
    refused_by_policy(&list_by_name);
    list_by_name["rules"][0]["resourceNames"] = json!([]);
    apply_as_operator(&list_by_name).unwrap();
    for role in [
        with(("verbs", json!(["*"]))),
        with(("verbs", json!(["get", "update"]))),
        with(("resources", json!(["*"]))),
        with(("resources", json!(["secrets", "pods"]))),
        with(("apiGroups", json!(["*"]))),
        with(("resourceNames", json!([]))),
        two_rules,
        no_rules,
    ] {
        refused_by_policy(&role);
    }
}

#[test]
fn the_operator_binds_the_role_only_to_accounts_of_its_namespace() {
    LazyLock::force(&APPLIED);
    create_namespace("bound");
    let access = access("bound", named(&["a"]));
    let binding = to_value(access.role_binding()).unwrap();
    apply_as_operator(&to_value(access.role()).unwrap()).unwrap();
    for subject in [
        json!({"kind": "ServiceAccount", "name": "default", "namespace": "kube-system"}),
        json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "somebody"}),
        json!({"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:authenticated"}),
    ] {
        let mut binding = binding.clone();
        binding["subjects"] = json!([binding["subjects"][0], subject]);
        refused_by_policy(&binding);
    }
    // The policy need not be asked here: what the operator may not bind, RBAC refuses.
    for role in [("ClusterRole", "cluster-admin"), ("ClusterRole", NAME), ("Role", "another")] {
        let mut binding = binding.clone();
        binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": role.0, "name": role.1});
        apply_as_operator(&binding).unwrap_err();
    }
    apply_as_operator(&binding).unwrap();
}

/// A new policy is in effect only after a moment, so it is asked for a while, and nothing is stored meanwhile.
fn refused_by_policy(object: &Value) {
    let begun = Instant::now();
    loop {
        let arguments =
            ["apply", "--server-side", "--dry-run=server", "--field-manager=pullwright-operator", OPERATOR];
        match WORLD.with(&arguments, object) {
            Err(message) => {
                assert!(message.contains("the operator may only"), "{object}: {message}");
                return;
            }
            Ok(_) => assert!(begun.elapsed() < Duration::from_secs(30), "not refused: {object}"),
        }
        sleep(Duration::from_millis(200));
    }
}
