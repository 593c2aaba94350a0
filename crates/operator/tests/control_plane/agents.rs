//! Agents without nodes: they report as agents do, each with a token of its own Pod, and remember every version of every `NodeState`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::StreamExt as _;
use kube::api::{Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::{Config as WatcherConfig, Event, watcher};
use kube::{Api, Client, Config, ResourceExt as _};
use pullwright_api::{NodeProgress, NodeState, condition};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::agent_access::{AGENT, NAMESPACE, pod};
use crate::world::{World, agent_manifest};

/// How long an agent takes for a change.
const CHANGE: Duration = Duration::from_millis(300);

/// The agents of a cluster, until this is dropped.
pub(crate) struct Agents {
    known: Arc<Known>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Known {
    /// The kubeconfig of each node's agent.
    nodes: Mutex<BTreeMap<String, PathBuf>>,
    /// Nodes whose agents do nothing.
    silent: Mutex<BTreeSet<String>>,
    /// Whether agents fail with every configuration that is not in `good`.
    picky: Mutex<Option<BTreeSet<String>>>,
    /// The versions of all objects in the order in which they came to be, and the deletions.
    versions: Mutex<Vec<Version>>,
}

/// A version of an object.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) node: String,
    /// The object; `None` if it was deleted.
    pub(crate) object: Option<NodeState>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

impl Agents {
    /// Starts agents, with the RBAC and the policy as shipped.
    pub(crate) fn start(world: &World) -> Self {
        for manifest in ["namespace", "rbac", "admission-policy"] {
            world.apply(&agent_manifest(manifest));
        }
        let known = Arc::new(Known::default());
        let (stop, stopped) = watch::channel(false);
        let (kubeconfig, shared) = (world.plane.kubeconfig().to_owned(), Arc::clone(&known));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(run(kubeconfig, shared, stopped));
        });
        Self { known, stop, thread: Some(thread) }
    }

    /// Gives nodes an agent each.
    pub(crate) fn come_to(&self, world: &World, nodes: &[&str]) {
        for node in nodes {
            let pod_name = format!("agent-{node}");
            world.apply_object(&pod(&pod_name, AGENT, Some(node)));
            let agent = world.agent(AGENT, Some(&pod_name));
            lock(&self.known.nodes).insert((*node).to_owned(), agent.kubeconfig);
        }
    }

    /// The agent of a node that is deleted goes with it.
    pub(crate) fn leave(&self, world: &World, node: &str) {
        lock(&self.known.nodes).remove(node);
        let pod = format!("agent-{node}");
        world.kubectl(&["delete", "pod", &pod, "--namespace", NAMESPACE, "--force", "--grace-period=0"]);
    }

    /// Has agents do nothing, or go on.
    pub(crate) fn silence(&self, nodes: &[&str]) {
        *lock(&self.known.silent) = nodes.iter().map(|&node| node.to_owned()).collect();
    }

    /// Has agents fail with everything but these, or with nothing.
    pub(crate) fn take_only(&self, good: Option<&[&str]>) {
        *lock(&self.known.picky) = good.map(|good| good.iter().map(|&name| name.to_owned()).collect());
    }

    /// Every version so far.
    pub(crate) fn versions(&self) -> Vec<Version> {
        lock(&self.known.versions).clone()
    }

    /// How many nodes were in flight at once, at most, since the `from`th version.
    pub(crate) fn most_in_flight(&self, from: usize) -> usize {
        let (mut in_flight, mut most) = (BTreeSet::new(), 0);
        for (at, Version { node, object }) in self.versions().into_iter().enumerate() {
            match object.filter(|object| object.progress() != NodeProgress::Done) {
                Some(_) => in_flight.insert(node),
                None => in_flight.remove(&node),
            };
            most = most.max(if at >= from { in_flight.len() } else { 0 });
        }
        most
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(std::thread::panicking() || ended.is_ok(), "an agent could not do its work");
        }
    }
}

async fn client(kubeconfig: &PathBuf) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

async fn run(kubeconfig: PathBuf, known: Arc<Known>, mut stop: watch::Receiver<bool>) {
    let api: Api<NodeState> = Api::all(client(&kubeconfig).await);
    let mut events = std::pin::pin!(watcher(api.clone(), WatcherConfig::default()));
    let mut lists = 0;
    loop {
        let event = tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            event = events.next() => event.unwrap(),
        };
        let (object, deleted) = match event {
            Ok(Event::Init) => {
                lists += 1;
                assert_eq!(lists, 1, "the watch was lost, and versions with it");
                continue;
            }
            Ok(Event::Apply(object) | Event::InitApply(object)) => (object, false),
            Ok(Event::Delete(object)) => (object, true),
            Ok(Event::InitDone) => continue,
            Err(error) => panic!("watching NodeStates: {error}"),
        };
        let node = object.name_any();
        let version = Version { node: node.clone(), object: (!deleted).then(|| object.clone()) };
        lock(&known.versions).push(version);
        let status = object.status.clone().unwrap_or_default();
        if !deleted && status.observed_generation != object.metadata.generation {
            tokio::spawn(obey(Arc::clone(&known), object));
        }
    }
}

/// Does what an agent does with a new version of what its node should have.
async fn obey(known: Arc<Known>, object: NodeState) {
    let node = object.name_any();
    // Its agent may come, or begin to work, later.
    let kubeconfig = loop {
        let kubeconfig = lock(&known.nodes).get(&node).cloned();
        let silent = lock(&known.silent).contains(&node);
        match kubeconfig.filter(|_| !silent) {
            Some(kubeconfig) => break kubeconfig,
            None => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    let api: Api<NodeState> = Api::all(client(&kubeconfig).await);
    let before = object.status.clone().unwrap_or_default().configuration;
    let wanted = object.spec.configuration.clone();
    let generation = object.metadata.generation;
    report(&api, &node, generation, before.as_deref(), ("False", condition::PROGRESSING)).await;
    tokio::time::sleep(CHANGE).await;
    let present = api.get_opt(&node).await.unwrap();
    if present.is_none_or(|present| present.metadata.generation != generation) {
        return;
    }
    let takes = lock(&known.picky)
        .as_ref()
        .is_none_or(|good| wanted.as_ref().is_none_or(|wanted| good.contains(wanted)));
    if takes {
        report(&api, &node, generation, wanted.as_deref(), ("True", condition::APPLIED)).await;
    } else {
        report(&api, &node, generation, before.as_deref(), ("False", condition::ROLLED_BACK)).await;
    }
}

async fn report(
    api: &Api<NodeState>,
    node: &str,
    generation: Option<i64>,
    configuration: Option<&str>,
    (ready, reason): (&str, &str),
) {
    let mut status = json!({
        "observedGeneration": generation,
        "conditions": [{
            "type": "Ready", "status": ready, "reason": reason, "message": "the kubelet did not start",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    });
    if let Some(configuration) = configuration {
        status["configuration"] = Value::from(configuration);
    }
    let body = json!({
        "apiVersion": "pullwright.dev/v1alpha1", "kind": "NodeState", "metadata": {"name": node}, "status": status,
    });
    let result = api.patch_status(node, &PatchParams::apply(AGENT).force(), &Patch::Apply(&body)).await;
    match result {
        // The node was deleted meanwhile, and its Pod.
        Err(kube::Error::Api(status)) if matches!(status.code, 401 | 404) => {}
        other => drop(other.unwrap()),
    }
}
