//! The manifests below `deploy/plugin` grant what the types grant.

use std::fs;
use std::path::Path;

use pullwright_api::access::{PullAccess, PullSecrets};
use pullwright_documents::{DocumentNode, yaml_documents};
use serde_json::{Value, to_value};

/// The objects in a manifest.
fn objects(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/plugin").join(file);
    let text = fs::read_to_string(path).unwrap();
    yaml_documents(&text).unwrap().iter().map(DocumentNode::value).collect()
}

#[test]
fn the_manifests_for_a_namespace_grant_what_the_operator_grants() {
    let named = PullSecrets::Named(["mirror-login".to_owned()].into());
    for (file, secrets) in
        [("namespace-all-secrets.yaml", PullSecrets::All), ("namespace-named-secrets.yaml", named)]
    {
        let namespace = "app-team-alpha".parse().unwrap();
        let access = PullAccess::new(namespace, secrets, ["default".to_owned()].into()).unwrap();
        let made = [to_value(access.role()).unwrap(), to_value(access.role_binding()).unwrap()];
        assert_eq!(objects(file), made, "{file}");
    }
}
