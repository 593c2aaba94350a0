//! What the nodes should have and what they have: by `NodeConfiguration`s, or by `MachineConfig`s.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pullwright_api::openshift::machine_config_name;
use pullwright_api::{NodeRuntime, condition};
use serde::Serialize;

use super::objects::{Access, ClusterObjects, NodeVersions, Pool, State};
use super::verdict::is_current;

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
    /// Nodes with a runtime that Pullwright does not configure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unsupported: Vec<UnsupportedNode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting: Vec<WaitingNode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed: Vec<FailedNode>,
}

/// A node that Pullwright does not configure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UnsupportedNode {
    pub(crate) name: String,
    /// The versions that its kubelet reports; empty if it has not yet.
    pub(crate) runtime: String,
}

/// A node that does not have what it should have. Without `wants`, that is what it had before Pullwright, or nobody has told it yet.
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

/// How far one node is.
enum Progress<'a> {
    Done,
    Waiting,
    Failed(&'a Condition),
}

fn progress(state: &State) -> Progress<'_> {
    let refuses = |one: &&Condition| {
        one.type_ == condition::READY && one.status == "False" && is_current(one, state.generation)
    };
    match state.conditions.iter().find(refuses) {
        Some(ready) => Progress::Failed(ready),
        None if state.wants == state.has => Progress::Done,
        None => Progress::Waiting,
    }
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
            match progress(state) {
                Progress::Done => report.on += 1,
                Progress::Failed(_) => report.failed_on += 1,
                Progress::Waiting => {}
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
    let configured: BTreeSet<_> = objects.configurations.objects.values().map(|one| one.runtime).collect();
    for (name, versions) in &objects.nodes.objects {
        let Some(runtime) = NodeRuntime::reported(&versions.runtime, &versions.kubelet) else {
            let NodeVersions { runtime, kubelet } = versions;
            let runtime =
                if runtime.is_empty() { String::new() } else { format!("{runtime}, kubelet {kubelet}") };
            report.unsupported.push(UnsupportedNode { name: name.clone(), runtime });
            continue;
        };
        *report.runtimes.entry(runtime).or_default() += 1;
        // There is a configuration for it, and nobody has told it yet.
        if configured.contains(&runtime) && objects.states.lacks(name) {
            report.waiting.push(WaitingNode { name: name.clone(), wants: None, has: None });
        }
    }
    for (name, state) in states(objects) {
        match progress(state) {
            Progress::Done => {}
            Progress::Waiting => report.waiting.push(WaitingNode {
                name: name.clone(),
                wants: state.wants.clone(),
                has: state.has.clone(),
            }),
            Progress::Failed(ready) => report.failed.push(FailedNode {
                name: name.clone(),
                wants: state.wants.clone(),
                reason: ready.reason.clone(),
                message: ready.message.clone(),
            }),
        }
    }
    report.waiting.sort_by(|one, other| one.name.cmp(&other.name));
    report
}
