//! The manifests in `deploy/plugin`, as an administrator applies them: they grant what the plugin needs and no more.

use std::fs;
use std::path::{Path, PathBuf};

use pullwright_documents::documents;
use pullwright_engine::kubelet::{ConfigFile, CredentialProviderConfig, lint};
use serde_json::{Value, json};

use crate::world::WORLD;

fn manifest(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/plugin").join(name)
}

fn apply(name: &str) {
    WORLD.plane.kubectl().apply(&fs::read_to_string(manifest(name)).unwrap()).unwrap();
}

/// Whether the API server lets `user` do it, by its own word.
fn may(user: &str, groups: &[&str], attributes: &Value) -> bool {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "groups": groups, "resourceAttributes": attributes},
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), review.to_string()).unwrap();
    let path = file.path().to_str().unwrap();
    let answer = WORLD.plane.kubectl().json(&["create", "--filename", path]).unwrap();
    answer["status"]["allowed"] == true
}

fn team_may(verb: &str, name: &str) -> bool {
    let attributes =
        json!({"namespace": "app-team-alpha", "verb": verb, "resource": "secrets", "name": name});
    may("system:serviceaccount:app-team-alpha:default", &[], &attributes)
}

/// One test, because the two roles have one name: an administrator chooses.
#[test]
fn a_namespace_may_read_what_its_role_says_and_no_more() {
    WORLD.apply(&[json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "app-team-alpha"}})]);
    apply("namespace-named-secrets.yaml");
    assert!(team_may("get", "mirror-login"));
    assert!(!team_may("get", "another") && !team_may("list", ""));
    apply("namespace-all-secrets.yaml");
    assert!(team_may("list", "") && !team_may("get", "another") && !team_may("delete", "mirror-login"));
}

#[test]
fn nodes_may_request_tokens_for_the_one_audience() {
    apply("nodes-may-request-tokens.yaml");
    let node_may = |audience: &str| {
        let attributes = json!({
            "namespace": "app-team-alpha", "verb": "request-serviceaccounts-token-audience",
            "resource": audience, "name": "default",
        });
        may("system:node:any", &["system:nodes"], &attributes)
    };
    assert!(node_may("https://kubernetes.default.svc"));
    assert!(!node_may("https://vault.example"));
}

#[test]
fn the_provider_configuration_is_one_that_a_kubelet_takes_without_a_warning() {
    let text = fs::read_to_string(manifest("credential-provider-config.yaml")).unwrap();
    let json = documents(&text).unwrap()[0].value().to_string();
    let config = [ConfigFile { path: "/config.yaml", json: json.as_bytes() }];
    let config = CredentialProviderConfig::load(&config).unwrap();
    assert_eq!(config.invoked("docker.io/library/nginx").len(), 1);
    assert_eq!(lint::lint(json.as_bytes()), []);
}
