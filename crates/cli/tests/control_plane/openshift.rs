//! A cluster without our kinds, which then turns out to be OpenShift.

use pullwright_testkit::control_plane::node;
use serde_json::{Value, json};

use crate::objects::condition;
use crate::world::{World, text};

/// A definition that accepts anything, of a kind that OpenShift has.
fn definition(kind: &str, plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.machineconfiguration.openshift.io")},
        "spec": {
            "group": "machineconfiguration.openshift.io", "scope": "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

fn object(kind: &str, name: &str, rest: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": kind, "metadata": {"name": name, "labels": {
            "machineconfiguration.openshift.io/mco-built-in": "", "app.kubernetes.io/managed-by": "pullwright-operator",
        }},
    });
    for (key, value) in rest.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}

#[test]
fn a_cluster_without_our_kinds_and_then_with_openshifts() {
    let world = World::bare("status-openshift");
    world.apply(&node("worker-1", "cri-o://1.34.0", "", "v1.34.1"));
    let output = world.status(&[]);
    assert_eq!(
        text(&output),
        "\
Operator
  ! nobody: the operator has never run in this cluster
Nodes
  1 node: 1 with crio
! everything is where it should be, but the operator is not running
"
    );
    assert_eq!(output.status.code(), Some(0));

    world.define(
        &[
            definition("MachineConfig", "machineconfigs"),
            definition("MachineConfigPool", "machineconfigpools"),
        ]
        .map(|definition| definition.to_string())
        .join("\n---\n"),
    );
    let create = |object: Value| world.plane.kubectl().apply(&object.to_string()).unwrap();
    create(object("MachineConfig", "99-worker-pullwright", &json!({"spec": {"config": {}}})));
    let configuration = json!({"source": [{"name": "99-worker-pullwright"}]});
    create(object(
        "MachineConfigPool",
        "worker",
        &json!({
            "spec": {"configuration": configuration},
            "status": {"machineCount": 3, "updatedMachineCount": 2, "degradedMachineCount": 0,
                "conditions": [condition("Updated", "False", "", "")]},
        }),
    ));
    create(object("MachineConfigPool", "odd", &json!({"spec": {}, "status": {"machineCount": "many"}})));
    let output = world.status(&[]);
    let text = text(&output);
    for line in [
        "  … pool worker: 99-worker-pullwright, 2 of 3 machines updated\n",
        "  ✗ MachineConfigPool/odd: cannot be parsed: ",
        "✗ 1 object cannot be parsed, 1 node waiting\n",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
    assert_eq!(output.status.code(), Some(1));
}
