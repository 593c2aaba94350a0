//! The Deployment runs the operator of this version.

use std::fs;
use std::path::Path;

use pullwright_api::names::{OPERATOR, OPERATOR_NAMESPACE};
use pullwright_documents::yaml_documents;

#[test]
fn the_deployment_runs_this_version() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/operator/deployment.yaml");
    let text = fs::read_to_string(path).unwrap();
    let deployment = yaml_documents(&text).unwrap()[0].value();
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["image"], format!("{OPERATOR}:{}", env!("CARGO_PKG_VERSION")));
    assert_eq!(pod["serviceAccountName"], OPERATOR);
    assert_eq!(deployment["metadata"]["namespace"], OPERATOR_NAMESPACE);
}
