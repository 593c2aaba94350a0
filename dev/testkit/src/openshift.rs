//! OpenShift's kinds on a plain control plane, as far as a program can tell: there is nothing behind them.

use serde_json::{Value, json};

/// The definitions, as YAML documents: `MachineConfig` and `MachineConfigPool`, `Infrastructure` and `ClusterVersion`, and the
/// mirror sets as OpenShift has them, which keep no conditions.
#[must_use]
pub fn definitions() -> String {
    include_str!("../testdata/openshift-crds.yaml").to_owned()
}

/// One of the pools that OpenShift comes with: `master` or `worker`. It has no machines.
#[must_use]
pub fn pool(name: &str) -> Value {
    let own = format!("pools.operator.machineconfiguration.openshift.io/{name}");
    let role = format!("node-role.kubernetes.io/{name}");
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfigPool",
        "metadata": {"name": name, "labels": {"machineconfiguration.openshift.io/mco-built-in": "", own: ""}},
        "spec": {
            "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": name}},
            "nodeSelector": {"matchLabels": {role: ""}},
            "paused": false,
        },
        "status": {"machineCount": 0, "updatedMachineCount": 0, "readyMachineCount": 0, "degradedMachineCount": 0},
    })
}
