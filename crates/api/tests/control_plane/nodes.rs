//! `NodeConfiguration` and `NodeState`: what the API server takes, and what `kubectl` shows of it.

use pullwright_api::{ConfigurationFile, NodeConfiguration, NodeConfigurationSpec, NodeRuntime};
use serde_json::{Value, json};

use crate::row::{Answer, Row, check};
use crate::world::WORLD;

fn configuration(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "pullwright.dev/v1alpha1", "kind": "NodeConfiguration", "metadata": {"name": name}, "spec": spec})
}

fn state(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "pullwright.dev/v1alpha1", "kind": "NodeState", "metadata": {"name": name}, "spec": spec})
}

fn with_file(change: (&str, Value)) -> Value {
    let mut file = json!({"path": "/etc/a", "mode": 420, "content": ""});
    file[change.0] = change.1;
    configuration("crio-row", &json!({"runtime": "crio", "files": [file]}))
}

#[test]
fn the_api_gives_back_the_content_that_the_name_promises() {
    let file = |path: &str, content: &str| ConfigurationFile {
        path: path.to_owned(),
        mode: 0o644,
        content: content.to_owned(),
    };
    let object = NodeConfigurationSpec {
        runtime: NodeRuntime::Crio,
        files: vec![file("/etc/z", "second \"ü\" \u{1f600}\n"), file("/etc/..a", "")],
        credential_provider_config: Some("kind: CredentialProviderConfig\n".to_owned()),
    }
    .into_object();
    WORLD.with(&["create"], &serde_json::to_value(&object).unwrap()).unwrap();
    let stored = WORLD.get("nodeconfig", object.metadata.name.as_deref().unwrap());
    let stored: NodeConfiguration = serde_json::from_value(stored).unwrap();
    assert_eq!(stored.spec, object.spec);
    assert!(stored.is_intact());
}

#[test]
fn a_configuration_has_a_known_runtime_and_files_that_a_node_can_have() {
    let row = |claim: &str, object: Value, answer| Row { claim: claim.to_owned(), object, answer };
    let mut rows = vec![
        row("no files", configuration("crio-row", &json!({"runtime": "crio"})), Answer::Accepted),
        row(
            "another runtime",
            configuration("docker-row", &json!({"runtime": "docker"})),
            Answer::Refused(&["spec.runtime: Unsupported value: \"docker\""]),
        ),
        row(
            "the name of another runtime",
            configuration("crio-row", &json!({"runtime": "k3s"})),
            Answer::Refused(&["the name of a NodeConfiguration is its runtime"]),
        ),
        row(
            "an empty provider configuration",
            configuration("crio-row", &json!({"runtime": "crio", "credentialProviderConfig": ""})),
            Answer::Refused(&["spec.credentialProviderConfig"]),
        ),
        row("mode 0777", with_file(("mode", json!(0o777))), Answer::Accepted),
        row("a setuid bit", with_file(("mode", json!(0o4755))), Answer::Refused(&["spec.files[0].mode"])),
        row("a negative mode", with_file(("mode", json!(-1))), Answer::Refused(&["spec.files[0].mode"])),
        row(
            "a large file",
            with_file(("content", json!("a".repeat(1_048_577)))),
            Answer::Refused(&["spec.files[0].content: Too long"]),
        ),
    ];
    for path in
        ["/a", "/etc/containers/registries.conf", "/.a", "/..a", "/a.", "/...", "/certs.d/a:5000/hosts.toml"]
    {
        rows.push(row(path, with_file(("path", json!(path))), Answer::Accepted));
    }
    for path in ["", "a", "/", "/a/", "//a", "/.", "/..", "/a/../b", "/a/./b", "/a/..", "/a\nb", "/a\0"] {
        rows.push(row(path, with_file(("path", json!(path))), Answer::Refused(&["spec.files[0].path"])));
    }
    check(&rows);
}

#[test]
fn kubectl_shows_where_a_node_is() {
    let name = "crio-0123456789";
    WORLD.with(&["create"], &state("node-1", &json!({"configuration": name}))).unwrap();
    let mut object = state("node-1", &json!({}));
    object["status"] = json!({"configuration": "crio-9876543210", "conditions": [{
        "type": "Ready", "status": "False", "reason": "RollingOut", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]});
    let arguments = ["apply", "--server-side", "--subresource=status", "--field-manager=agent"];
    WORLD.with(&arguments, &object).unwrap();
    let shown = WORLD.kubectl(&["get", "nodestate", "node-1"]).unwrap();
    let lines: Vec<Vec<_>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["NAME", "DESIRED", "ACTUAL", "READY", "REASON", "AGE"]);
    assert_eq!(lines[1][..5], ["node-1", name, "crio-9876543210", "False", "RollingOut"]);

    let spec = json!({"runtime": "containerd"});
    WORLD.with(&["create"], &configuration("containerd-0123456789", &spec)).unwrap();
    let shown = WORLD.kubectl(&["get", "nodeconfig", "containerd-0123456789"]).unwrap();
    let lines: Vec<Vec<_>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["NAME", "RUNTIME", "AGE"]);
    assert_eq!(lines[1][..2], ["containerd-0123456789", "containerd"]);
}

#[test]
fn a_state_names_configurations() {
    let row = |claim: &str, object: Value, answer| Row { claim: claim.to_owned(), object, answer };
    check(&[
        row("none", state("node-2", &json!({})), Answer::Accepted),
        row("one", state("node-2", &json!({"configuration": "k3s-0123456789"})), Answer::Accepted),
        row(
            "something else",
            state("node-2", &json!({"configuration": "../0123456789"})),
            Answer::Refused(&["spec.configuration"]),
        ),
    ]);
}
