//! etcd forgets its history, and a watch that needs it is told so.

use std::error::Error;

use pullwright_testkit::ControlPlane;
use serde_json::Value;

use crate::folder;

/// Watches `ConfigMaps` from a version for a second, and returns the first event.
fn watch(plane: &ControlPlane, version: &str) -> Result<Value, Box<dyn Error>> {
    let path = format!(
        "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion={version}&timeoutSeconds=1"
    );
    let events = plane.kubectl().run(&["get", "--raw", &path])?;
    Ok(serde_json::from_str(events.lines().next().ok_or("no event")?)?)
}

#[test]
fn a_watch_from_before_a_compaction_is_gone() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start(&folder("history")?)?;
    let kubectl = plane.kubectl();
    let version = |name: &str| -> Result<String, Box<dyn Error>> {
        kubectl.run(&["create", "configmap", name])?;
        let object = kubectl.json(&["get", "configmap", name])?;
        Ok(object["metadata"]["resourceVersion"].as_str().ok_or("no version")?.to_owned())
    };
    let old = version("first")?;
    let second = version("second")?;
    let event = watch(&plane, &old)?;
    assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&"ADDED".into(), &"second".into()));

    let compacted = plane.compact()?;
    assert!(compacted >= second.parse()?, "{compacted} {second}");
    plane.stop_api_server();
    plane.start_api_server()?;
    let event = watch(&plane, &old)?;
    assert_eq!((&event["type"], &event["object"]["code"]), (&"ERROR".into(), &410.into()), "{event}");
    // etcd itself has forgotten it, not only kube-apiserver, whose memory begins with the restart.
    let exact =
        format!("/api/v1/namespaces/default/configmaps?resourceVersionMatch=Exact&resourceVersion={old}");
    let error = kubectl.run(&["get", "--raw", &exact]).unwrap_err().to_string();
    assert!(error.contains("too old") || error.contains("compacted"), "{error}");
    // What there is has not changed.
    assert_eq!(kubectl.json(&["get", "configmap", "first"])?["metadata"]["resourceVersion"], *old);
    Ok(())
}
