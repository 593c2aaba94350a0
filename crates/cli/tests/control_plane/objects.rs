//! Objects as the operator, the agent and the kubelet leave them.

use serde_json::{Value, json};

pub(crate) fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message, "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

pub(crate) fn mirror_set(name: &str, verdict: Option<&Value>) -> Value {
    let mut set = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet", "metadata": {"name": name},
        "spec": {"imageDigestMirrors": [{"source": format!("{name}.example"), "mirrors": ["mirror.example"]}]},
    });
    if let Some(verdict) = verdict {
        set["status"] = json!({"conditions": [verdict]});
    }
    set
}

pub(crate) fn configuration(name: &str) -> Value {
    json!({
        "apiVersion": "pullwright.dev/v1alpha1", "kind": "NodeConfiguration", "metadata": {"name": name},
        "spec": {
            "runtime": "crio",
            "files": [{"path": "/etc/containers/registries.conf", "mode": 420, "content": "# nothing\n"}],
        },
    })
}

pub(crate) fn state(node: &str, wants: &str, status: &Value) -> Value {
    json!({
        "apiVersion": "pullwright.dev/v1alpha1", "kind": "NodeState", "metadata": {"name": node},
        "spec": {"configuration": wants}, "status": status,
    })
}
