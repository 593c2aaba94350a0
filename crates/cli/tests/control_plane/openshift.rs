//! A cluster without our kinds, which then turns out to be OpenShift.

use pullwright_api::openshift::machine_config;
use pullwright_testkit::control_plane::node;
use pullwright_testkit::openshift;
use serde_json::json;

use crate::objects::{condition, mirror_set};
use crate::world::{World, text};

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

    world.define(&openshift::definitions());
    world.apply(&serde_json::to_value(machine_config("worker", [("/etc/a", 0o644, "a\n")])).unwrap());
    let mut worker = openshift::pool("worker");
    worker["spec"]["configuration"] = json!({"source": [{"name": "99-worker-pullwright"}]});
    worker["status"] = json!({"machineCount": 3, "updatedMachineCount": 2, "degradedMachineCount": 0});
    world.apply(&worker);
    let mut odd = openshift::pool("odd");
    odd["status"]["machineCount"] = json!("many");
    world.apply(&odd);
    // OpenShift's definition drops the condition.
    world.apply(&mirror_set("set", Some(&condition("Applied", "False", "Rejected", ""))));
    let output = world.status(&[]);
    let text = text(&output);
    for line in [
        "  - ImageDigestMirrorSet/set has no conditions in this cluster; its Events say what became of it\n",
        "  … pool worker: 99-worker-pullwright, 2 of 3 machines updated\n",
        "  ✗ MachineConfigPool/odd: cannot be parsed: ",
        "✗ 1 object cannot be parsed, 1 node waiting\n",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
    assert_eq!(output.status.code(), Some(1));
}
