//! A real kube-apiserver with the Secrets of every row.

use std::path::Path;

use anyhow::{Context as _, Result};
use pullwright_testkit::ControlPlane;
use pullwright_testkit::control_plane::AUDIENCE;
use serde_json::{Value, json};

use crate::load::{Load, PullSecret};

/// How many Secrets are applied at once: few enough to show progress, and for those that are a megabyte each to fit.
const CHUNK: usize = 100;
const CHUNK_OF_HOSTILE: usize = 4;

/// Starts a control plane in `root` whose namespaces hold what `loads` say.
///
/// # Errors
/// If a program is missing or the API server refuses something.
pub fn start(root: &Path, loads: &[Load]) -> Result<ControlPlane> {
    eprintln!("starting etcd and kube-apiserver");
    let plane = ControlPlane::start(root)?;
    let mut filled = Vec::new();
    for load in loads {
        let namespace = load.namespace();
        if filled.contains(&namespace) {
            continue;
        }
        plane.kubectl().apply(&manifests(&access(&namespace)))?;
        let secrets: Vec<Value> = load.secrets().map(|secret| manifest(&namespace, secret)).collect();
        let size = if load.hostile > 0 { CHUNK_OF_HOSTILE } else { CHUNK };
        for (done, chunk) in secrets.chunks(size).enumerate() {
            eprintln!("  namespace {namespace}: {} of {} Secrets", done * size, secrets.len());
            plane.kubectl().apply(&manifests(chunk))?;
        }
        filled.push(namespace);
    }
    Ok(plane)
}

/// A token as the kubelet would pass it for a Pod of the namespace.
///
/// # Errors
/// If the API server does not give one.
pub fn token(plane: &ControlPlane, namespace: &str) -> Result<String> {
    let args = ["create", "token", "default", "--namespace", namespace, "--audience", AUDIENCE];
    let token = plane.kubectl().run(&[&args[..], &["--duration", "24h"]].concat());
    Ok(token.with_context(|| format!("a token for namespace {namespace}"))?.trim().to_owned())
}

/// A namespace whose default ServiceAccount may list its Secrets.
fn access(namespace: &str) -> [Value; 4] {
    let meta = |name: &str| json!({"name": name, "namespace": namespace});
    let rbac = "rbac.authorization.k8s.io/v1";
    [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("default")}),
        json!({"apiVersion": rbac, "kind": "Role", "metadata": meta("read-secrets"),
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}]}),
        json!({"apiVersion": rbac, "kind": "RoleBinding", "metadata": meta("read-secrets"),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "read-secrets"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}]}),
    ]
}

fn manifest(namespace: &str, secret: PullSecret) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret.name(), "namespace": namespace},
        "type": PullSecret::KIND,
        "stringData": {PullSecret::FIELD: secret.content()},
    })
}

/// Several documents in one text.
fn manifests(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("---\n{object}\n")).collect()
}
