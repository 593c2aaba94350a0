//! OpenShift's kinds: what it keeps and what it drops.

use std::error::Error;

use pullwright_testkit::{ControlPlane, openshift};

use crate::folder;

const MIRRORS: &str = "
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {name: mirrors}
spec: {imageDigestMirrors: [{source: registry.example.com, mirrors: [mirror.example.com]}]}
";

#[test]
fn pools_keep_their_status_and_mirror_sets_drop_conditions() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start(&folder("openshift")?)?;
    let kubectl = plane.kubectl();
    kubectl.apply(&openshift::definitions())?;
    kubectl.run(&["wait", "--for=condition=Established", "--timeout=60s", "crds", "--all"])?;
    plane.create_many(["master", "worker"].map(openshift::pool).into_iter())?;
    let worker = kubectl.json(&["get", "machineconfigpool", "worker"])?;
    assert_eq!(worker["status"]["machineCount"], 0, "{worker:#}");
    let role = "machineconfiguration.openshift.io/role";
    assert_eq!(worker["spec"]["machineConfigSelector"]["matchLabels"][role], "worker");

    kubectl.apply(MIRRORS)?;
    let condition = r#"{"status": {"conditions": [{"type": "Applied", "status": "True"}]}}"#;
    let patch = ["patch", "idms", "mirrors", "--subresource=status", "--type=merge", "--patch", condition];
    kubectl.run(&patch)?;
    let set = kubectl.json(&["get", "idms", "mirrors"])?;
    assert_eq!(set["spec"]["imageDigestMirrors"][0]["source"], "registry.example.com");
    assert!(set["status"].get("conditions").is_none(), "{set:#}");
    Ok(())
}
