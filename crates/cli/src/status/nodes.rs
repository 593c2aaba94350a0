//! What the nodes should have and what they have: by `NodeConfiguration`s, or by `MachineConfig`s.

use std::collections::BTreeMap;

use pullwright_api::NodeRuntime;
use pullwright_api::openshift::machine_config_name;
use serde::Serialize;

use super::objects::{Access, ClusterObjects, NodeVersions, Pool, Progress, State, Why};

/// What is brought to the nodes, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub(crate) enum Delivery {
    /// By `OpenShift`'s Machine Config Operator.
    MachineConfigs { pools: Vec<PoolReport> },
    /// By Pullwright's agent on each node.
    NodeConfigurations { configurations: Vec<ConfigurationReport> },
}

/// A pool of machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PoolReport {
    pub(crate) pool: String,
    /// The `MachineConfig` that brings our files to it.
    pub(crate) machine_config: String,
    /// Whether that exists.
    pub(crate) present: bool,
    /// Whether the pool is made from it.
    pub(crate) rendered: bool,
    pub(crate) machines: usize,
    pub(crate) updated: usize,
    pub(crate) degraded: usize,
}

impl PoolReport {
    /// How many machines wait for what we bring, and how many failed to take it.
    pub(super) fn waiting_and_failed(&self) -> (usize, usize) {
        match (self.present, self.rendered) {
            (false, _) => (0, 0),
            (true, false) => (self.machines, 0),
            (true, true) => {
                (self.machines.saturating_sub(self.updated).saturating_sub(self.degraded), self.degraded)
            }
        }
    }
}

/// A configuration that nodes have or should have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ConfigurationReport {
    pub(crate) name: String,
    /// What it holds; `None` if nodes want it and it does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<ContentReport>,
    /// How many nodes should have it.
    pub(crate) wanted_by: usize,
    /// How many of them have it.
    pub(crate) on: usize,
    /// How many of them failed to take it.
    pub(crate) failed_on: usize,
}

/// What a configuration holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ContentReport {
    pub(crate) runtime: NodeRuntime,
    pub(crate) files: usize,
    pub(crate) bytes: usize,
}

/// The nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct NodesReport {
    /// How many nodes have which runtime.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) runtimes: BTreeMap<NodeRuntime, usize>,
    /// How far the newest configuration of each runtime is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) rollouts: Vec<RolloutReport>,
    /// Nodes with a runtime that Pullwright does not configure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unsupported: Vec<UnsupportedNode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting: Vec<WaitingNode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) in_flight: Vec<FlyingNode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed: Vec<FailedNode>,
    /// Nodes on which pulls go on without the plugin, because it fails.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failing_plugins: Vec<FailingPlugin>,
    /// Nodes that the control plane does not take for healthy. A roll-out may wait for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_ready: Vec<String>,
}

/// How far the roll-out of a configuration is, among the nodes of its runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RolloutReport {
    pub(crate) runtime: NodeRuntime,
    pub(crate) configuration: String,
    /// How many nodes have it.
    pub(crate) have: usize,
    /// How many were not told to have it yet.
    pub(crate) waiting: usize,
    /// How many were told something, and have not said that they have it.
    pub(crate) in_flight: usize,
    pub(crate) failed: usize,
    /// Whether no other node gets it, because one could not take it.
    pub(crate) stopped: bool,
}

impl RolloutReport {
    pub(super) fn nodes(&self) -> usize {
        self.have + self.waiting + self.in_flight + self.failed
    }
}

/// A node that Pullwright does not configure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UnsupportedNode {
    pub(crate) name: String,
    /// The versions that its kubelet reports; empty if it has not yet.
    pub(crate) runtime: String,
}

/// A node that was told to have something and has not said that it does. Without `wants`, that is what it had before Pullwright.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FlyingNode {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wants: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) has: Option<String>,
    /// What its agent says about it; nothing if the agent has not taken note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// A node that was not told yet to have the newest configuration of its runtime. Without `wants`, nobody has told it anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct WaitingNode {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wants: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) has: Option<String>,
}

/// A node that could not take what it should have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FailedNode {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wants: Option<String>,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// A node whose plugin fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FailingPlugin {
    pub(crate) name: String,
    pub(crate) message: String,
}

/// The states of nodes that exist. Where nodes cannot be read, all states count.
fn states(objects: &ClusterObjects) -> impl Iterator<Item = (&String, &State)> {
    let nodes = &objects.nodes;
    objects.states.objects.iter().filter(|(name, _)| !nodes.lacks(name))
}

pub(super) fn delivery(objects: &ClusterObjects) -> Delivery {
    if objects.pools.access == Access::Read {
        let pools = objects.pools.objects.iter();
        return Delivery::MachineConfigs {
            pools: pools.map(|(name, pool)| pool_report(objects, name, pool)).collect(),
        };
    }
    let mut reports: BTreeMap<&str, ConfigurationReport> = BTreeMap::new();
    for name in newest(objects) {
        reports.insert(name, configuration(objects, name));
    }
    for (_, state) in states(objects) {
        if let Some(name) = &state.wants {
            let report = reports.entry(name).or_insert_with(|| configuration(objects, name));
            report.wanted_by += 1;
            match state.progress {
                Progress::Done => report.on += 1,
                Progress::Failed(_) => report.failed_on += 1,
                Progress::InFlight(_) => {}
            }
        }
    }
    Delivery::NodeConfigurations { configurations: reports.into_values().collect() }
}

fn pool_report(objects: &ClusterObjects, name: &str, pool: &Pool) -> PoolReport {
    // A pool of the user's own inherits what the workers get.
    let machine_config = machine_config_name(if pool.built_in { name } else { "worker" });
    let ours = &objects.machine_configs;
    let rendered = pool.sources.contains(&machine_config);
    PoolReport {
        pool: name.to_owned(),
        // Where MachineConfigs cannot be read, the pool knows of those that it has.
        present: ours.objects.contains_key(&machine_config) || (rendered && !ours.lacks(&machine_config)),
        rendered,
        machine_config,
        machines: pool.machines,
        updated: pool.updated,
        degraded: pool.degraded,
    }
}

/// The newest configuration of each runtime.
fn newest(objects: &ClusterObjects) -> impl Iterator<Item = &str> {
    let mut newest: BTreeMap<NodeRuntime, (&str, _)> = BTreeMap::new();
    for (name, configuration) in &objects.configurations.objects {
        let last = newest.entry(configuration.runtime).or_insert((name, configuration.created));
        if configuration.created > last.1 {
            *last = (name, configuration.created);
        }
    }
    newest.into_values().map(|(name, _)| name)
}

fn configuration(objects: &ClusterObjects, name: &str) -> ConfigurationReport {
    let content = objects.configurations.objects.get(name);
    ConfigurationReport {
        name: name.to_owned(),
        content: content.map(|content| ContentReport {
            runtime: content.runtime,
            files: content.files,
            bytes: content.bytes,
        }),
        wanted_by: 0,
        on: 0,
        failed_on: 0,
    }
}

pub(super) fn nodes(objects: &ClusterObjects) -> NodesReport {
    let mut report = NodesReport::default();
    let configurations = &objects.configurations.objects;
    let newest: BTreeMap<NodeRuntime, &str> =
        newest(objects).filter_map(|name| Some((configurations.get(name)?.runtime, name))).collect();
    let mut rollouts: BTreeMap<NodeRuntime, RolloutReport> = BTreeMap::new();
    for (name, versions) in &objects.nodes.objects {
        let Some(runtime) = NodeRuntime::reported(&versions.runtime, &versions.kubelet) else {
            let NodeVersions { runtime, kubelet, .. } = versions;
            let runtime =
                if runtime.is_empty() { String::new() } else { format!("{runtime}, kubelet {kubelet}") };
            report.unsupported.push(UnsupportedNode { name: name.clone(), runtime });
            continue;
        };
        *report.runtimes.entry(runtime).or_default() += 1;
        if !versions.ready {
            report.not_ready.push(name.clone());
        }
        let state = objects.states.objects.get(name);
        // Where states cannot be read, nobody knows.
        let (Some(newest), true) = (newest.get(&runtime), state.is_some() || objects.states.lacks(name))
        else {
            continue;
        };
        let rollout = rollouts.entry(runtime).or_insert_with(|| rollout(runtime, newest));
        let told = state.is_some_and(|state| state.wants.as_deref() == Some(newest));
        match state.map(|state| &state.progress) {
            Some(Progress::Failed(_)) => {
                rollout.failed += 1;
                rollout.stopped |= told;
            }
            Some(Progress::InFlight(_)) => rollout.in_flight += 1,
            Some(Progress::Done) if told => rollout.have += 1,
            Some(Progress::Done) | None => {
                rollout.waiting += 1;
                let wants = state.and_then(|state| state.wants.clone());
                let has = state.and_then(|state| state.has.clone());
                report.waiting.push(WaitingNode { name: name.clone(), wants, has });
            }
        }
    }
    report.rollouts = rollouts.into_values().collect();
    for (name, state) in states(objects) {
        let State { wants, has, progress, plugin_fails } = state.clone();
        let name = name.clone();
        if let Some(message) = plugin_fails {
            report.failing_plugins.push(FailingPlugin { name: name.clone(), message });
        }
        match progress {
            Progress::Done => {}
            Progress::InFlight(why) => {
                let (reason, message) = why.map(|why| (why.reason, why.message)).unzip();
                report.in_flight.push(FlyingNode { name, wants, has, reason, message });
            }
            Progress::Failed(Why { reason, message }) => {
                report.failed.push(FailedNode { name, wants, reason, message });
            }
        }
    }
    report
}

fn rollout(runtime: NodeRuntime, configuration: &str) -> RolloutReport {
    RolloutReport {
        runtime,
        configuration: configuration.to_owned(),
        have: 0,
        waiting: 0,
        in_flight: 0,
        failed: 0,
        stopped: false,
    }
}
