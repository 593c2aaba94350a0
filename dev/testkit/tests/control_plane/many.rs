//! Many objects, quickly, with their status.

use std::{error::Error, time::Instant};

use pullwright_testkit::{ControlPlane, control_plane::node};
use serde_json::{Value, json};

use crate::folder;

const NODES: usize = 500;

#[test]
fn many_nodes_have_the_status_that_was_asked_for() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start(&folder("many")?)?;
    let nodes = |runtime: &'static str| {
        (0..NODES).map(move |number| {
            node(&format!("node-{number}"), runtime, &format!("aws:///zone/i-{number}"), "v1.36.0")
        })
    };
    let runtimes = |runtime: &str| -> Result<usize, Box<dyn Error>> {
        let nodes = plane.kubectl().json(&["get", "nodes"])?;
        let has = |node: &&Value| node["status"]["nodeInfo"]["containerRuntimeVersion"] == runtime;
        Ok(nodes["items"].as_array().ok_or("no list")?.iter().filter(has).count())
    };
    let begun = Instant::now();
    assert_eq!(plane.create_many(nodes("cri-o://1.36.0"))?, NODES);
    println!("{NODES} nodes after {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!(runtimes("cri-o://1.36.0")?, NODES);
    let begun = Instant::now();
    assert_eq!(plane.set_status_of_many(nodes("containerd://2.4.2"))?, NODES);
    println!("{NODES} statuses after {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!(runtimes("containerd://2.4.2")?, NODES);

    let one = plane.kubectl().json(&["get", "node", "node-7"])?;
    assert_eq!(one["spec"]["providerID"], "aws:///zone/i-7");
    assert_eq!(one["status"]["nodeInfo"]["kubeletVersion"], "v1.36.0");
    Ok(())
}

#[test]
fn what_the_api_server_refuses_is_said_with_its_reason() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start(&folder("many-refused")?)?;
    let map = |name: &str, namespace: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}});
    assert_eq!(plane.create_many([map("one", "default"), map("two", "default")].into_iter())?, 2);
    let error = plane.create_many([map("one", "default")].into_iter()).unwrap_err().to_string();
    assert!(
        error.contains("/api/v1/namespaces/default/configmaps") && error.contains("already exists"),
        "{error}"
    );
    let unknown = json!({"apiVersion": "v1", "kind": "Nonsense", "metadata": {"name": "x"}});
    let error = plane.create_many([unknown].into_iter()).unwrap_err().to_string();
    assert!(error.contains("no kind Nonsense"), "{error}");
    Ok(())
}
