//! One status: objects with conditions, nodes, and what a user may not read.

use pullwright_testkit::control_plane::node;
use serde_json::{Value, json};

use crate::objects::{condition, configuration, mirror_set, state};
use crate::world::{WORLD, status, text};

const BAD: &str = "\
  ✗ ImageDigestMirrorSet/status-bad rejected
      Rejected: no rule is valid
";

fn objects() {
    let rejected = condition("Applied", "False", "Rejected", "no rule is valid");
    WORLD.apply(&mirror_set("status-bad", Some(&rejected)));
    WORLD.apply(&mirror_set("status-good", Some(&condition("Applied", "True", "Applied", ""))));
    WORLD.apply(&mirror_set("status-new", None));
}

#[test]
fn the_status_says_what_became_of_each_object_and_node() {
    objects();
    WORLD.apply(&configuration("crio-0123456789"));
    for name in ["status-done", "status-failed", "status-told", "status-waiting"] {
        WORLD.apply(&node(name, "cri-o://1.34.0", "", "v1.34.1"));
    }
    WORLD.apply(&node("status-odd", "docker://28.0.1", "", "v1.34.1"));
    let done = json!({
        "observedGeneration": 1, "configuration": "crio-0123456789",
        "conditions": [condition("Ready", "True", "Applied", "")],
    });
    WORLD.apply(&state("status-done", "crio-0123456789", &done));
    let ready = condition("Ready", "False", "RolledBack", "crio did not start");
    let failed = json!({"observedGeneration": 1, "conditions": [ready]});
    WORLD.apply(&state("status-failed", "crio-0123456789", &failed));
    WORLD.apply(&state("status-told", "crio-0123456789", &json!({})));

    let output = WORLD.status(&[]);
    let text = text(&output);
    for lines in [
        BAD,
        "  … ImageDigestMirrorSet/status-new not judged yet\n",
        "  ✓ ImageDigestMirrorSet/status-good applied\n",
        "  ✗ crio-0123456789: 1 file (10 B) for crio, on 1 of 3 nodes, 1 failed\n",
        "  5 nodes: 4 with crio, 1 with a runtime that is not supported\n",
        "  ✗ crio: 1 of 4 nodes have crio-0123456789, 1 waiting, 1 in flight, 1 failed; stopped",
        "  ✗ status-failed failed: RolledBack: crio did not start\n",
        "  … status-told in flight: its agent has not taken note yet\n",
        "  … waiting: status-waiting\n",
        "  ! not supported: status-odd (docker://28.0.1, kubelet v1.34.1)\n",
        "1 node failed",
    ] {
        assert!(text.contains(lines), "{lines}\nis not in\n{text}");
    }
    assert!(!text.contains("Not readable"), "{text}");
    assert_eq!(output.status.code(), Some(1));

    let data: Value = serde_json::from_slice(&WORLD.status(&["-o", "json"]).stdout).unwrap();
    assert_eq!(data["nodes"]["failed"][0]["reason"], "RolledBack");
    assert_eq!(data["delivery"]["by"], "node-configurations");
    assert_eq!(data["nodes"]["runtimes"], json!({"crio": 4}));
}

#[test]
fn who_may_not_list_nodes_sees_the_rest() {
    objects();
    WORLD.apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reads-mirror-sets"},
        "rules": [{
            "apiGroups": ["config.openshift.io"], "resources": ["imagedigestmirrorsets"], "verbs": ["list"],
        }],
    }));
    WORLD.apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "reads-mirror-sets"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reads-mirror-sets"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}],
    }));
    let kubeconfig = WORLD.plane.component_kubeconfig("reader", "reader", None).unwrap();
    let output = status(&kubeconfig, &[]).output().unwrap();
    let text = text(&output);
    for lines in [
        BAD,
        "  unknown, because its Lease is not readable\n",
        "  ! Node: not readable: Forbidden\n",
        "  ! NodeState: not readable: Forbidden\n",
        ", as far as you may read it\n",
    ] {
        assert!(text.contains(lines), "{lines}\nis not in\n{text}");
    }
    // This cluster has no such kind, which is different from being forbidden to read it.
    assert!(!text.contains("MachineConfigPool"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_lease_says_who_leads() {
    WORLD.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "pullwright-system"}}));
    WORLD.apply(&json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "pullwright-operator", "namespace": "pullwright-system"},
        "spec": {
            "holderIdentity": "pod-a", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z",
        },
    }));
    let text = text(&WORLD.status(&[]));
    assert!(
        text.contains("  ! nobody: the operator is not running, or cannot renew its lease; pod-a last did "),
        "{text}"
    );
}
