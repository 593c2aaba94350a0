//! Pulls go on whatever the agent does to the node meanwhile.

use std::fs;
use std::io::{Read as _, Write as _};
use std::thread;
use std::time::Duration;

use pullwright_testkit::node::{NAME, Runtime, SystemdNode};
use pullwright_testkit::process::wait_until;
use pullwright_testkit::scenario::PATIENCE;
use serde_json::{Value, json};

use crate::cluster::{Cluster, FOLDERS, Outcome, ready, reason};
use crate::roll_out::{KUBELET, break_configuration, operators};

const PLUGIN: &str = "/opt/pullwright/credential-providers/crio-credential-provider";

/// A newer agent brings its plugin, and an older one takes it back, while Pods start all the time.
pub(crate) fn upgrade(node: &SystemdNode<'_>) -> Outcome {
    let cluster = Cluster(node);
    let (older, kubelet) = (plugin(node)?, node.unit(KUBELET)?);
    let newer = cluster.load_agent("0.2.0", "newer")?;
    let pods = Pods::new(&cluster, "upgrade", 40)?;
    thread::scope(|scope| {
        let started = scope.spawn(|| pods.start().map_err(|error| error.to_string()));
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
    Ok(())
}

/// The kubelet is restarted for a configuration that works and twice for one that does not, while a hundred Pods want their image.
pub(crate) fn burst(node: &SystemdNode<'_>) -> Outcome {
    let cluster = Cluster(node);
    let pods = Pods::new(&cluster, "burst", 100)?;
    let before = cluster.updated(None)?;
    cluster.start_all(pods.wanted())?;
    cluster.provider(&["docker.io", "quay.io"])?;
    let good = cluster.updated(Some(&before))?;
    break_configuration(&cluster, &good)?;
    cluster.node_state("the node says that it went back", |state| reason(state) == "RolledBack")?;
    operators(&cluster, 2)?;
    pods.all_run()?;
    assert_eq!(cluster.updated(None)?, good);
    Ok(())
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
    cluster.kubectl(&[
        "--namespace=pullwright-agent",
        "delete",
        "pods",
        "--all",
        "--force",
        "--grace-period=0",
    ])?;
    cluster.updated(Some(&before))?;
    cluster.rolled_out("pullwright-agent", "daemonset/pullwright-agent")
}

/// A kubelet that runs but never makes the node Ready is not what was wanted, whatever the reason is.
pub(crate) fn never_ready(node: &SystemdNode<'_>) -> Outcome {
    let cluster = Cluster(node);
    let before = cluster.updated(None)?;
    let agent = [
        "--namespace=pullwright-agent",
        "set",
        "env",
        "daemonset/pullwright-agent",
        "PULLWRIGHT_AGENT_WAIT=20",
    ];
    cluster.kubectl(&agent)?;
    cluster.rolled_out("pullwright-agent", "daemonset/pullwright-agent")?;
    let files = node.snapshot(&FOLDERS[..3])?;
    let network = node.root().join("cni/10-pods.conflist");
    let of_pods = fs::read(&network)?;
    fs::remove_file(&network)?;
    cluster.provider(&["docker.io", "never.example.com"])?;
    let state = cluster.node_state("the node went back", |state| reason(state) == "RolledBack")?;
    let message = ready(&state)["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("did not work again within 20 s"), "{message}");
    assert_eq!(node.snapshot(&FOLDERS[..3])?, files);
    // Runtimes look at a file that is written, and not at one that is moved there.
    fs::write(&network, of_pods)?;
    node.wait_ready()?;
    // Withdrawn, it is forgotten.
    cluster.provider(&["docker.io", "ghcr.io"])?;
    assert_eq!(cluster.updated(None)?, before);
    Ok(())
}

/// What a process for each pull cannot tell, the agent does: how its runs ended, and that they fail for what is wrong on the node.
pub(crate) fn outcomes(node: &SystemdNode<'_>) -> Outcome {
    let cluster = Cluster(node);
    let provided = if node.runtime() == Runtime::Crio { "wrote-file" } else { "wrote-ticket" };
    wait_until("the agent has counted the pulls", PATIENCE, || {
        let metrics = agent_metrics(node).map_err(|error| error.to_string())?;
        let line = format!("pullwright_agent_plugin_runs_total{{reason=\"{provided}\"}} ");
        let runs =
            metrics.lines().find_map(|found| found.strip_prefix(&line)).and_then(|runs| runs.parse().ok());
        if runs.is_some_and(|runs: u64| runs > 100) { Ok(()) } else { Err(metrics) }
    })?;
    let bad = "/etc/containers/registries.conf.d/99-bad.conf";
    node.write(bad, "[[registry]]\nlocation = 5\n")?;
    let found = plugin_trouble(&cluster);
    fs::remove_file(node.file(bad))?;
    cluster.kubectl(&["--namespace=team", "delete", "pods", "--all", "--now", "--wait=false"])?;
    let found = found?;
    assert_eq!((&found["status"], &found["reason"]), (&json!("False"), &json!("RunsFail")));
    assert!(found["message"].as_str().is_some_and(|why| why.contains("bad-registries-conf")), "{found}");
    Ok(())
}

/// Starts Pods until the node says that its plugin fails, and returns what it says.
fn plugin_trouble(cluster: &Cluster<'_, '_>) -> Outcome<Value> {
    for number in 0..90 {
        cluster.start(&format!("bad-{number}"), "docker.io/library/bad:1")?;
        let state = cluster.get(&["nodestates", NAME])?;
        let conditions = state["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if let Some(found) = conditions.into_iter().find(|condition| condition["type"] == "PluginWorks") {
            return Ok(found);
        }
        thread::sleep(Duration::from_secs(1));
    }
    Err("the node does not say that its plugin fails".into())
}

fn agent_metrics(node: &SystemdNode<'_>) -> Outcome<String> {
    let mut stream = node.place().connect(9463)?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
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

    /// Their names, and the images that they want.
    fn wanted(&self) -> impl Iterator<Item = (String, String)> {
        let image = |number: usize| format!("docker.io/library/{}-{}:1", self.name, number % 10);
        (0..self.count).map(move |number| (format!("{}-{number}", self.name), image(number)))
    }

    /// Starts one after the other.
    fn start(&self) -> Outcome {
        for (name, image) in self.wanted() {
            self.cluster.start(&name, &image)?;
            thread::sleep(Duration::from_millis(300));
        }
        Ok(())
    }

    /// All of them run, and no pull failed on the way.
    fn all_run(&self) -> Outcome {
        wait_until("every Pod runs", 2 * PATIENCE, || {
            let pods = self.cluster.get(&["--namespace=team", "pods"]).map_err(|error| error.to_string())?;
            let waiting: Vec<_> =
                items(&pods).filter(|pod| !is_ready(pod)).map(|pod| &pod["metadata"]["name"]).collect();
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
}

/// Also if they fail: they would fill the node.
impl Drop for Pods<'_> {
    fn drop(&mut self) {
        let names: Vec<_> = self.wanted().map(|(name, _)| name).collect();
        let mut arguments =
            vec!["--namespace=team", "delete", "pods", "--now", "--wait=false", "--ignore-not-found"];
        arguments.extend(names.iter().map(String::as_str));
        if let Err(error) = self.cluster.kubectl(&arguments) {
            println!("{error}");
        }
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
    cluster.kubectl(&[
        "--namespace=pullwright-agent",
        "patch",
        "daemonset/pullwright-agent",
        "--patch",
        &patch,
    ])?;
    Ok(())
}
