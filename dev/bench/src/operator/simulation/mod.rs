//! Roll-outs in a cluster where everything goes wrong: agents fail, watches are late or lost, requests and their answers are lost, the
//! operator is killed in the middle of its writes, and nodes come, go, and are made anew.
//!
//! The decisions are the operator's own. What is simulated is the API server, the agents, and the shell that carries the decisions out.

mod cluster;
mod replica;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::{Result, bail};
use cluster::Cluster;
use fastrand::Rng;
use pullwright_api::NodeRuntime;
use pullwright_operator::rollout::{MaxUnavailable, Progress, RolloutPolicy};
use replica::Replica;
use serde::Serialize;
use tokio::time::Instant;

/// How far a watch may lag behind, in steps. A step stands for a second.
const LAG: usize = 5;
/// How often a node may be told something for each change of what is wanted: once, and before that once more if it joins while canaries try
/// it, since it then gets what all nodes had.
pub(crate) const WRITES_PER_CHANGE: usize = 2;

/// What is simulated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) nodes: usize,
    pub(crate) max_unavailable: usize,
    /// How many steps everything goes wrong for.
    pub(crate) chaos: usize,
    /// After how many steps, on average, something else is wanted.
    pub(crate) change_every: usize,
}

/// What happened.
#[derive(Debug, Serialize)]
pub struct Rollouts {
    pub(crate) nodes: usize,
    pub(crate) max_unavailable: usize,
    /// How many steps everything went wrong for, and how many it took from there until all nodes had what was wanted.
    pub(crate) chaos: usize,
    pub(crate) calm: usize,
    pub(crate) changes: usize,
    pub(crate) restarts: usize,
    pub(crate) lost_watches: usize,
    pub(crate) lost_requests: usize,
    pub(crate) failures: usize,
    pub(crate) most_in_flight: usize,
    pub(crate) writes: usize,
    /// The most writes about one node for one change of what is wanted.
    pub(crate) most_writes: usize,
    /// The longest that one decision took.
    pub(crate) longest_decision: Duration,
}

/// Everything.
struct World {
    scenario: Scenario,
    rng: Rng,
    step: usize,
    cluster: Cluster,
    replica: Replica,
    /// Which nodes were made sick, the last one last.
    sick: Vec<usize>,
    /// The moment of step 0.
    began: Instant,
    wanted: BTreeMap<NodeRuntime, String>,
    /// The configuration of each runtime that all nodes had last: an annotation in the cluster.
    rolled_out: BTreeMap<NodeRuntime, String>,
    policy: RolloutPolicy,
    /// How often each Node was told something since the last change, by uid.
    told: BTreeMap<String, usize>,
    seen: Rollouts,
}

const RUNTIMES: [NodeRuntime; 2] = [NodeRuntime::Crio, NodeRuntime::Containerd];

/// Plays a scenario to its end.
///
/// # Errors
/// If too many nodes are in flight, if a node is told something too often, or if the nodes do not get what is wanted.
pub(crate) fn play(scenario: Scenario) -> Result<Rollouts> {
    let mut world = World::new(scenario);
    while world.step < scenario.chaos {
        world.disturb();
        world.step(false)?;
    }
    world.calm();
    // In calm times each wave takes a few steps; a canary takes the time to soak, and so does the loss of an answer.
    let bound = scenario.chaos + 300 + 20 * world.cluster.nodes.present.len() / scenario.max_unavailable;
    while !world.is_there() {
        if world.step > bound {
            bail!("{scenario:?}: after {} steps, not all nodes have what is wanted", world.step);
        }
        world.step(true)?;
    }
    world.seen.calm = world.step - scenario.chaos;
    world.seen.failures = world.cluster.failures;
    Ok(world.seen)
}

impl World {
    fn new(scenario: Scenario) -> Self {
        let Scenario { seed, nodes, max_unavailable, chaos, .. } = scenario;
        Self {
            rng: Rng::with_seed(seed),
            step: 0,
            cluster: Cluster::new(nodes),
            replica: Replica::new(),
            sick: Vec::new(),
            began: Instant::now(),
            wanted: RUNTIMES.into_iter().map(|runtime| (runtime, format!("{}-0", runtime.name()))).collect(),
            rolled_out: BTreeMap::new(),
            policy: RolloutPolicy { max_unavailable: MaxUnavailable::Nodes(max_unavailable), canaries: 1 },
            told: BTreeMap::new(),
            seen: Rollouts {
                nodes,
                max_unavailable,
                chaos,
                calm: 0,
                changes: 0,
                restarts: 0,
                lost_watches: 0,
                lost_requests: 0,
                failures: 0,
                most_in_flight: 0,
                writes: 0,
                most_writes: 0,
                longest_decision: Duration::ZERO,
            },
            scenario,
        }
    }

    fn step(&mut self, calm: bool) -> Result<()> {
        self.step += 1;
        self.cluster.agents(self.step, &mut self.rng, calm);
        // The two watches are independent.
        let lag = |rng: &mut Rng| if calm { 0 } else { rng.usize(..=LAG) };
        let (nodes, states) = (lag(&mut self.rng), lag(&mut self.rng));
        self.cluster.nodes.list(self.step, false);
        self.cluster.states.list(self.step, false);
        self.cluster.nodes.show(self.step, nodes);
        self.cluster.states.show(self.step, states);
        self.pass(calm)?;
        if calm || self.rng.bool() {
            self.cluster.collect_garbage(self.step);
        }
        Ok(())
    }

    fn disturb(&mut self) {
        let (step, count) = (self.step, self.cluster.nodes.present.len());
        let index = self.rng.usize(..count.max(1));
        if self.rng.usize(..self.scenario.change_every) == 0 {
            self.want();
        }
        // Nodes that are sick get well, or were replaced meanwhile.
        if self.sick.len() > self.rng.usize(1..10)
            && let Some(index) = self.sick.pop()
        {
            self.cluster.change(step, index, |node| node.ready = true);
        }
        match self.rng.u8(..100) {
            0..2 => self.restart(),
            2..5 => {
                self.seen.lost_watches += 1;
                let until = step + self.rng.usize(2..20);
                if self.rng.bool() {
                    self.cluster.nodes.lose(until);
                } else {
                    self.cluster.states.lose(until);
                }
            }
            5..10 => self.cluster.add(step),
            10..15 if count > 3 => drop(self.cluster.remove(step, index)),
            15..20 => self.cluster.replace(step, index),
            20..30 => {
                self.cluster.change(step, index, |node| node.ready = false);
                self.sick.push(index);
            }
            30..35 => self.cluster.change(step, index, |node| node.cordoned = !node.cordoned),
            _ => {}
        }
    }

    /// Another replica leads from now on. It reads everything afresh and remembers nothing.
    fn restart(&mut self) {
        self.seen.restarts += 1;
        self.replica = Replica::new();
        self.cluster.nodes.list(self.step, true);
        self.cluster.states.list(self.step, true);
    }

    /// Something else is wanted: something new, which may be bad, or what worked before.
    fn want(&mut self) {
        self.told.clear();
        self.seen.changes += 1;
        for runtime in RUNTIMES {
            let back = self.rolled_out.get(&runtime).cloned().filter(|_| self.rng.bool());
            let is_new = back.is_none();
            let wanted = back.unwrap_or_else(|| format!("{}-{}", runtime.name(), self.seen.changes));
            if is_new && self.rng.u8(..100) < 40 {
                self.cluster.bad.insert(wanted.clone());
            }
            self.wanted.insert(runtime, wanted);
        }
    }

    /// Nodes are well again, and somebody who looks at what failed wants something that works.
    fn calm(&mut self) {
        for index in 0..self.cluster.nodes.present.len() {
            self.cluster.change(self.step, index, |node| node.ready = true);
        }
        let mut states = self.cluster.states.present.values();
        let failed = states.any(|state| matches!(state.progress, Progress::Failed(_)));
        if failed || self.wanted.values().any(|wanted| self.cluster.bad.contains(wanted)) {
            self.told.clear();
            self.seen.changes += 1;
            for (runtime, wanted) in &mut self.wanted {
                *wanted = format!("{}-good", runtime.name());
            }
        }
    }

    /// Whether all nodes have what is wanted.
    fn is_there(&self) -> bool {
        self.cluster.nodes.present.values().all(|node| {
            let wanted = node.runtime.and_then(|runtime| self.wanted.get(&runtime));
            let state = self.cluster.states.present.get(&node.name).filter(|state| state.is_of(node));
            state.is_some_and(|state| {
                state.progress == Progress::Done && state.actual.as_ref() == wanted && wanted.is_some()
            })
        })
    }
}

impl fmt::Display for Rollouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, max_unavailable, chaos, calm, changes, .. } = self;
        writeln!(f, "roll-outs, simulated: {nodes} nodes, at most {max_unavailable} at a time")?;
        writeln!(
            f,
            "  {changes:6}  changes of what is wanted in {chaos} seconds in which everything goes wrong"
        )?;
        for (number, what) in [
            (self.failures, "failures of agents"),
            (self.restarts, "other leaders, some because one was killed in the middle of its writes"),
            (self.lost_watches, "lost watches"),
            (self.lost_requests, "lost requests and answers"),
            (self.most_in_flight, "nodes in flight at once, at most"),
            (self.writes, "writes of NodeStates"),
            (self.most_writes, "of them about one node for one change, at most"),
            (*calm, "seconds from then until all nodes have what is wanted"),
        ] {
            writeln!(f, "  {number:6}  {what}")?;
        }
        writeln!(f, "  {:4.1} ms  for the longest decision", self.longest_decision.as_secs_f64() * 1e3)
    }
}
