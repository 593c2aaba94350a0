//! Pulls go on whatever the agent does to the node meanwhile.

use std::thread;
use std::time::Duration;

use pullwright_testkit::node::SystemdNode;
use pullwright_testkit::process::wait_until;
use pullwright_testkit::scenario::PATIENCE;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Outcome, reason};
use crate::roll_out::{KUBELET, break_configuration, operators};

const PLUGIN: &str = "/opt/pullwright/credential-providers/crio-credential-provider";

/// A newer agent brings its plugin, and an older one takes it back, while Pods start all the time.
pub(crate) fn upgrade(node: &SystemdNode<'_>) -> Outcome {
    let cluster = Cluster(node);
    let (older, kubelet) = (plugin(node)?, node.unit(KUBELET)?);
    let newer = cluster.load_agent("0.2.0", "newer")?;
    let pods = Pods::new(&cluster, "upgrade", 40)?;
    thread::scope(|scope| {
        let started = scope.spawn(|| pods.start(Duration::from_millis(400)).map_err(|error| error.to_string()));
        change_agent(&cluster, &newer)?;
        wait_until("the newer plugin is there", PATIENCE, || other_than(node, &older))?;
        change_agent(&cluster, &newer.replace("0.2.0", "0.1.0"))?;
        wait_until("the older plugin is back", PATIENCE, || match plugin(node) {
            Ok(found) if found == older => Ok(()),
            found => Err(format!("{found:?}")),
        })?;
        started.join().unwrap()?;
        Outcome::Ok(())
    })?;
    pods.all_run()?;
    assert_eq!(node.unit(KUBELET)?, kubelet, "the kubelet starts the plugin anew for every pull");
    pods.delete()
}

/// The kubelet is restarted for a configuration that works and twice for one that does not, while a hundred Pods want their image.
pub(crate) fn burst(node: &SystemdNode<'_>) -> Outcome {
    let cluster = Cluster(node);
    let pods = Pods::new(&cluster, "burst", 100)?;
    let before = cluster.updated(None)?;
    pods.start(Duration::ZERO)?;
    cluster.provider(&["docker.io", "quay.io"])?;
    let good = cluster.updated(Some(&before))?;
    break_configuration(&cluster, &good)?;
    cluster.node_state("the node says that it went back", |state| reason(state) == "RolledBack")?;
    operators(&cluster, 2)?;
    pods.all_run()?;
    assert_eq!(cluster.updated(None)?, good);
    pods.delete()
}

/// Nobody can say that the node is Ready while the API server is away. The agent waits, and does not go back.
pub(crate) fn api_server_away(node: &SystemdNode<'_>) -> Outcome {
    let cluster = Cluster(node);
    let (before, kubelet) = (cluster.updated(None)?, node.unit(KUBELET)?);
    cluster.provider(&["docker.io"])?;
    wait_until("the kubelet is restarted", PATIENCE, || {
        let now = node.unit(KUBELET).map_err(|error| error.to_string())?;
        if now.invocation_id == kubelet.invocation_id { Err("not yet".to_owned()) } else { Ok(()) }
    })?;
    node.control_plane().stop_api_server();
    // Long enough for an agent that counts this time to give up on the kubelet, if its patience were that of most programs.
    thread::sleep(Duration::from_secs(30));
    let restarted = node.unit(KUBELET)?;
    node.control_plane().start_api_server()?;
    cluster.updated(Some(&before))?;
    assert_eq!(node.unit(KUBELET)?, restarted, "the kubelet was restarted once");
    Ok(())
}

/// Killed while it waits for the kubelet, the agent goes on when it is back.
pub(crate) fn killed(node: &SystemdNode<'_>) -> Outcome {
    let cluster = Cluster(node);
    let (before, kubelet) = (cluster.updated(None)?, node.unit(KUBELET)?);
    cluster.provider(&["docker.io", "ghcr.io"])?;
    wait_until("the kubelet is restarted", PATIENCE, || {
        let now = node.unit(KUBELET).map_err(|error| error.to_string())?;
        if now.invocation_id == kubelet.invocation_id { Err("not yet".to_owned()) } else { Ok(()) }
    })?;
    node.place().run("pkill", &["-KILL", "-x", "pullwright-agen"])?;
    cluster.updated(Some(&before))?;
    cluster.rolled_out("pullwright-agent", "daemonset/pullwright-agent")
}

/// Pods of one namespace that all pull images of their own.
struct Pods<'a> {
    cluster: &'a Cluster<'a, 'a>,
    name: &'static str,
    count: usize,
}

impl<'a> Pods<'a> {
    /// Prepares ten images for so many Pods.
    fn new(cluster: &'a Cluster<'a, 'a>, name: &'static str, count: usize) -> Outcome<Self> {
        for number in 0..10 {
            cluster.0.push("other", &format!("library/{name}-{number}:1"))?;
        }
        Ok(Self { cluster, name, count })
    }

    fn start(&self, pause: Duration) -> Outcome {
        for number in 0..self.count {
            let image = format!("docker.io/library/{}-{}:1", self.name, number % 10);
            self.cluster.start(&format!("{}-{number}", self.name), &image)?;
            thread::sleep(pause);
        }
        Ok(())
    }

    /// All of them run, and no pull failed on the way.
    fn all_run(&self) -> Outcome {
        wait_until("every Pod runs", 2 * PATIENCE, || {
            let pods = self.cluster.get(&["--namespace=team", "pods"]).map_err(|error| error.to_string())?;
            let waiting: Vec<_> = items(&pods).filter(|pod| !is_ready(pod)).map(|pod| &pod["metadata"]["name"]).collect();
            if waiting.is_empty() { Ok(()) } else { Err(format!("{waiting:?}")) }
        })?;
        let events = self.cluster.get(&["--namespace=team", "events"])?;
        let failed: Vec<_> = items(&events)
            .filter(|event| event["reason"] == "Failed" && is_about(event, self.name))
            .map(|event| &event["message"])
            .collect();
        assert!(failed.is_empty(), "pulls failed: {failed:#?}");
        Ok(())
    }

    fn delete(&self) -> Outcome {
        let names: Vec<_> = (0..self.count).map(|number| format!("{}-{number}", self.name)).collect();
        let mut arguments = vec!["--namespace=team", "delete", "pods", "--now", "--wait=false"];
        arguments.extend(names.iter().map(String::as_str));
        self.cluster.kubectl(&arguments)?;
        Ok(())
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn is_about(event: &Value, name: &str) -> bool {
    event["involvedObject"]["name"].as_str().is_some_and(|pod| pod.starts_with(name))
}

fn plugin(node: &SystemdNode<'_>) -> Outcome<String> {
    let entries = node.snapshot(&[PLUGIN])?;
    Ok(format!("{:?}", entries.values().next()))
}

fn other_than(node: &SystemdNode<'_>, before: &str) -> Result<(), String> {
    match plugin(node) {
        Ok(found) if found != before => Ok(()),
        found => Err(format!("{found:?}")),
    }
}

fn change_agent(cluster: &Cluster<'_, '_>, image: &str) -> Outcome {
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "agent", "image": image}]}}}});
    let patch = patch.to_string();
    cluster.kubectl(&["--namespace=pullwright-agent", "patch", "daemonset/pullwright-agent", "--patch", &patch])?;
    Ok(())
}
