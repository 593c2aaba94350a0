//! Pacing in a cluster where everything goes wrong: agents fail, watches lag, operators restart, nodes come and go.

use std::collections::{BTreeMap, VecDeque};

use fastrand::Rng;
use pullwright_api::NodeRuntime;

use super::*;

/// How many steps the operator waits before it takes the canaries' word.
const SOAK: usize = 3;
/// How far the operator's view may lag behind.
const LAG: usize = 5;

/// The cluster as it is.
struct Cluster {
    nodes: BTreeMap<String, RolloutNode>,
    /// Revisions that no node can take.
    bad: Vec<String>,
    /// How often each node was told something: the generation of its object.
    generations: BTreeMap<String, u64>,
    /// What the watch has yet to show, the oldest first. A watch may be late, but it never goes back.
    unseen: VecDeque<Snapshot>,
    made: usize,
}

type Snapshot = (BTreeMap<String, RolloutNode>, BTreeMap<String, u64>);

/// The operator as it is implemented around the plan: it remembers what it told nodes until the watch shows it, reads everything afresh
/// when it starts, and keeps in the cluster only what all nodes had.
struct Operator {
    told: BTreeMap<String, (Option<String>, u64)>,
    canaries_since: Option<(String, usize)>,
}

struct World {
    rng: Rng,
    cluster: Cluster,
    operator: Operator,
    policy: RolloutPolicy,
    wanted: String,
    last_rolled_out: Option<String>,
    /// How often each node was told something since the last change of what is wanted.
    writes: BTreeMap<String, usize>,
    max: usize,
}

impl Cluster {
    fn add(&mut self, zone: usize) {
        self.made += 1;
        let name = format!("node-{}", self.made);
        let node = RolloutNode {
            uid: format!("uid-{}", self.made),
            zone: format!("zone-{zone}"),
            runtime: NodeRuntime::Crio,
            ready: true,
            state: None,
            name: name.clone(),
        };
        self.nodes.insert(name, node);
    }

    fn show(&mut self) {
        self.unseen.push_back((self.nodes.clone(), self.generations.clone()));
    }

    fn in_flight(&self) -> usize {
        let flying =
            |node: &&RolloutNode| node.state.as_ref().is_some_and(|state| state.desired != state.actual);
        self.nodes.values().filter(flying).count()
    }

    /// Each agent that was told to change may try now.
    fn agents(&mut self, rng: &mut Rng) {
        for node in self.nodes.values_mut().filter(|node| node.ready) {
            let Some(state) = &mut node.state else { continue };
            if rng.u8(..100) < 30 {
                continue;
            }
            state.noted = true;
            if state.desired == state.actual {
                // Told to keep what it has: there is nothing left to fail.
                state.failed = false;
            } else if rng.u8(..100) < 50 {
                let bad = state.desired.as_ref().is_some_and(|desired| self.bad.contains(desired));
                state.failed = bad;
                if !bad {
                    state.actual.clone_from(&state.desired);
                }
            }
        }
    }
}

impl World {
    fn new(seed: u64, nodes: usize, max: usize) -> Self {
        let mut cluster = Cluster {
            nodes: BTreeMap::new(),
            bad: Vec::new(),
            generations: BTreeMap::new(),
            unseen: VecDeque::new(),
            made: 0,
        };
        for index in 0..nodes {
            cluster.add(index % 3);
        }
        Self {
            rng: Rng::with_seed(seed),
            cluster,
            operator: Operator { told: BTreeMap::new(), canaries_since: None },
            policy: RolloutPolicy { max_unavailable: MaxUnavailable::Nodes(max), canaries: 1 },
            wanted: "r0".to_owned(),
            last_rolled_out: None,
            writes: BTreeMap::new(),
            max,
        }
    }

    /// What the operator sees: the watch as it was a few steps ago, and what it told nodes since.
    fn view(&mut self, lag: usize) -> Vec<RolloutNode> {
        while self.cluster.unseen.len() > 1 + lag {
            self.cluster.unseen.pop_front();
        }
        let (mut view, generations) = self.cluster.unseen[0].clone();
        self.operator
            .told
            .retain(|name, (_, generation)| generations.get(name).is_none_or(|seen| seen < generation));
        for (name, (desired, _)) in &self.operator.told {
            if let Some(node) = view.get_mut(name) {
                let state = node.state.get_or_insert_default();
                (state.desired, state.noted) = (desired.clone(), false);
            }
        }
        view.into_values().collect()
    }

    fn step(&mut self, step: usize, chaos: bool) {
        if chaos {
            self.disturb();
        }
        self.cluster.agents(&mut self.rng);
        self.cluster.show();
        let lag = if chaos { self.rng.usize(..=LAG) } else { 0 };
        let view = self.view(lag);
        let proof = self.proof(step, &view);
        let revision = Revision {
            wanted: Some(self.wanted.clone()),
            proof,
            last_rolled_out: self.last_rolled_out.clone(),
        };
        if proof == Proof::RolledOut {
            self.last_rolled_out = Some(self.wanted.clone());
        }
        let plan = plan(&self.policy, &BTreeMap::from([(NodeRuntime::Crio, revision)]), &view);
        for told in plan.assignments {
            // A node that is gone cannot be told; the write fails.
            let Some(node) = self.cluster.nodes.get_mut(&told.node) else { continue };
            let state = node.state.get_or_insert_default();
            state.desired.clone_from(&told.configuration);
            state.noted = false;
            *self.writes.entry(told.node.clone()).or_default() += 1;
            let generation = self.cluster.generations.entry(told.node.clone()).or_default();
            *generation += 1;
            self.operator.told.insert(told.node, (told.configuration, *generation));
        }
        assert!(self.cluster.in_flight() <= self.max, "{} at once", self.cluster.in_flight());
    }

    fn proof(&mut self, step: usize, view: &[RolloutNode]) -> Proof {
        let has = |node: &RolloutNode| {
            node.state.as_ref().is_some_and(|state| {
                let settled = state.noted && state.actual == state.desired && !state.failed;
                settled && state.desired.as_ref() == Some(&self.wanted)
            })
        };
        let done = view.iter().filter(|node| has(node)).count();
        if done == view.len() {
            return Proof::RolledOut;
        }
        if self.last_rolled_out.as_ref() == Some(&self.wanted) {
            return Proof::RolledOut;
        }
        if done < self.policy.canaries {
            self.operator.canaries_since = None;
            return Proof::New;
        }
        let since = self.operator.canaries_since.get_or_insert_with(|| (self.wanted.clone(), step));
        if since.0 != self.wanted {
            *since = (self.wanted.clone(), step);
        }
        if step >= since.1 + SOAK { Proof::CanariesDid } else { Proof::New }
    }

    fn disturb(&mut self) {
        match self.rng.u8(..100) {
            // The operator restarts: it forgets, and reads everything afresh before it does anything.
            0..5 => {
                self.operator = Operator { told: BTreeMap::new(), canaries_since: None };
                self.cluster.unseen.clear();
            }
            5..8 => self.want(),
            8..12 => {
                let zone = self.rng.usize(..3);
                self.cluster.add(zone);
            }
            12..16 if self.cluster.nodes.len() > 3 => {
                let names: Vec<String> = self.cluster.nodes.keys().cloned().collect();
                self.cluster.nodes.remove(&names[self.rng.usize(..names.len())]);
            }
            16..30 => {
                let index = self.rng.usize(..self.cluster.nodes.len());
                if let Some(node) = self.cluster.nodes.values_mut().nth(index) {
                    node.ready = !node.ready;
                }
            }
            _ => {}
        }
    }

    /// Something else is wanted: something new, which may be bad, or what worked before.
    fn want(&mut self) {
        self.writes.clear();
        let back = self.last_rolled_out.clone().filter(|_| self.rng.bool());
        self.wanted = back.unwrap_or_else(|| format!("r{}", self.rng.u32(..)));
        if self.rng.u8(..100) < 40 && self.last_rolled_out.as_ref() != Some(&self.wanted) {
            self.cluster.bad.push(self.wanted.clone());
        }
    }

    /// Everything is well again, and what is wanted is good.
    fn calm(&mut self) {
        self.cluster.bad.clear();
        self.cluster.nodes.values_mut().for_each(|node| node.ready = true);
        self.writes.clear();
    }

    fn converged(&self) -> bool {
        self.cluster.nodes.values().all(|node| {
            let state = node.state.as_ref();
            state.is_some_and(|state| {
                state.actual.as_ref() == Some(&self.wanted) && state.desired == state.actual && !state.failed
            })
        })
    }
}

fn play(seed: u64, nodes: usize, max: usize) {
    let mut world = World::new(seed, nodes, max);
    let mut step = 0;
    while step < 300 {
        world.step(step, true);
        step += 1;
    }
    world.calm();
    let bound = step + 60 + 20 * world.cluster.nodes.len() / max;
    while !world.converged() {
        assert!(step < bound, "seed {seed}: not there after {step} steps");
        world.step(step, false);
        step += 1;
    }
    // Told what all nodes had, then what is wanted; and once more if it was told something that was wanted no more.
    let most = world.writes.values().max().copied().unwrap_or_default();
    assert!(most <= 3, "seed {seed}: a node was told {most} times");
}

#[test]
fn never_too_many_at_once_and_always_there_in_the_end() {
    for seed in 0..100 {
        let mut rng = Rng::with_seed(seed);
        play(seed, rng.usize(1..40), rng.usize(1..6));
    }
}

#[test]
fn a_bad_revision_reaches_the_canaries_only() {
    for seed in 0..50 {
        let mut world = World::new(seed, 20, 3);
        let mut step = 0;
        while !world.converged() {
            world.step(step, false);
            step += 1;
        }
        world.wanted = "bad".to_owned();
        world.cluster.bad.push("bad".to_owned());
        for _ in 0..200 {
            world.step(step, false);
            step += 1;
        }
        let told =
            world.cluster.nodes.values().filter(|node| {
                node.state.as_ref().is_some_and(|state| state.desired.as_deref() == Some("bad"))
            });
        assert_eq!(told.count(), 1, "seed {seed}");
    }
}
