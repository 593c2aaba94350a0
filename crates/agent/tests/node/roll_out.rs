//! One node from nothing to a pull, through a change and a failure, and back.

use std::path::Path;
use std::sync::OnceLock;

use pullwright_api::NodeConfigurationSpec;
use pullwright_testkit::node::{NAME, Snapshot, SystemdNode};
use serde_json::json;

use crate::cluster::{Cluster, FOLDERS, Outcome, ready, reason};

/// The node's files before anything of ours was there.
static BEFORE: OnceLock<Snapshot> = OnceLock::new();

pub(crate) const KUBELET: &str = "kubelet.service";

/// Apply the objects; the agent rolls out; the kubelet restarts with the plugin; a Pod pulls through the mirror with its namespace's
/// Secret.
pub(crate) fn first(node: &SystemdNode<'_>) -> Outcome {
    let cluster = Cluster(node);
    let _ = BEFORE.set(node.snapshot(&FOLDERS)?);
    let kubelet = node.unit(KUBELET)?;
    cluster.install()?;
    cluster.team()?;
    node.push("mirror", "library/first:1")?;
    assert_eq!(node.unit(KUBELET)?, kubelet, "nothing is wanted yet");

    cluster.mirror(5000)?;
    cluster.provider(&["docker.io"])?;
    cluster.updated(None)?;
    assert_ne!(node.unit(KUBELET)?.invocation_id, kubelet.invocation_id);
    cluster.start("first", "docker.io/library/first:1")?;
    cluster.runs("first")?;
    let log = node.registry("mirror")?.log().text();
    assert!(log.contains("authorized request") && log.contains("library/first"), "the mirror was not asked");
    Ok(())
}

/// The next pull follows with no restart of kubelet or runtime, and no running container is touched.
pub(crate) fn changed_mirror(node: &SystemdNode<'_>) -> Outcome {
    let cluster = Cluster(node);
    node.push("other", "library/second:1")?;
    let before = cluster.updated(None)?;
    let units = || -> Outcome<_> { Ok((node.unit(KUBELET)?, node.unit(node.runtime_unit())?)) };
    let (running, container) = (units()?, cluster.runs("first")?);
    cluster.mirror(5001)?;
    cluster.updated(Some(&before))?;
    cluster.start("second", "docker.io/library/second:1")?;
    cluster.runs("second")?;
    assert_eq!(units()?, running);
    assert_eq!(cluster.runs("first")?, container);
    Ok(())
}

/// A provider without a program gets past every check of the file itself, and the kubelet does not start with it.
pub(crate) fn broken(node: &SystemdNode<'_>) -> Outcome {
    let cluster = Cluster(node);
    let before = cluster.updated(None)?;
    let files = node.snapshot(&FOLDERS)?;
    break_configuration(&cluster, &before)?;
    let state = cluster.node_state("the node says why", |state| reason(state) == "RolledBack")?;
    let message = ready(&state)["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("the kubelet"), "{message}");
    assert_eq!(state["status"]["configuration"], before.as_str());
    node.wait_ready()?;
    assert_eq!(
        node.snapshot(&FOLDERS[..3])?,
        files.into_iter().filter(|(path, _)| !path.starts_with(FOLDERS[3])).collect()
    );
    // The operator takes it back, and all is well.
    cluster.kubectl(&[
        "--namespace=pullwright-system",
        "scale",
        "deployment/pullwright-operator",
        "--replicas=2",
    ])?;
    assert_eq!(cluster.updated(None)?, before);
    Ok(())
}

/// Tells the node to have what it has now, and a provider without a program. Nobody but the test decides from here on.
pub(crate) fn break_configuration(cluster: &Cluster<'_, '_>, good: &str) -> Outcome {
    operators(cluster, 0)?;
    let good = cluster.get(&["nodeconfigurations", good])?;
    let config = good["spec"]["credentialProviderConfig"].as_str().unwrap_or_default();
    let mut spec: NodeConfigurationSpec = serde_json::from_value(good["spec"].clone())?;
    spec.credential_provider_config = Some(format!("{config}{PROVIDER}"));
    let object = spec.into_object();
    let told = json!({"spec": {"configuration": object.metadata.name}}).to_string();
    cluster.apply(&serde_json::to_value(&object)?)?;
    cluster.kubectl(&["patch", "nodestates", NAME, "--type=merge", "--patch", &told])?;
    Ok(())
}

const PROVIDER: &str = "- name: no-such-program\n  apiVersion: credentialprovider.kubelet.k8s.io/v1\n  matchImages: [example.com]\n  defaultCacheDuration: 0s\n";

/// Has so many operators run.
pub(crate) fn operators(cluster: &Cluster<'_, '_>, count: usize) -> Outcome {
    let replicas = format!("--replicas={count}");
    cluster.kubectl(&[
        "--namespace=pullwright-system",
        "scale",
        "deployment/pullwright-operator",
        &replicas,
    ])?;
    if count == 0 {
        let all = "--selector=app.kubernetes.io/name=pullwright-operator";
        let gone = ["--namespace=pullwright-system", "wait", "--for=delete", "pod", all, "--timeout=120s"];
        cluster.kubectl(&gone)?;
    }
    Ok(())
}

/// Uninstalling leaves nothing.
pub(crate) fn removed(node: &SystemdNode<'_>) -> Outcome {
    let cluster = Cluster(node);
    cluster.kubectl(&["delete", "imagetagmirrorsets,criocredentialproviderconfigs", "--all"])?;
    cluster.node_state("the node has nothing of ours", |state| {
        state["spec"]["configuration"].is_null()
            && state["status"]["configuration"].is_null()
            && reason(state) == "Applied"
    })?;
    node.wait_ready()?;
    let (before, after) = (BEFORE.get().unwrap(), node.snapshot(&FOLDERS)?);
    // CRI-O makes this folder for itself when it takes the first file.
    let of_crio = Path::new("/etc/crio/auth/in-use");
    let changed: Vec<_> = after
        .iter()
        .filter(|(path, entry)| before.get(*path) != Some(*entry) && path.as_path() != of_crio)
        .collect();
    let missing: Vec<_> = before.keys().filter(|path| !after.contains_key(*path)).collect();
    assert!(changed.is_empty() && missing.is_empty(), "changed: {changed:#?}, missing: {missing:#?}");
    assert!(!node.unit("pullwright-images.service")?.active.eq("active"));
    Ok(())
}
