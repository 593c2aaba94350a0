//! The cluster of a simulation: what the API server has, what its watches show, and what the agents do.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fastrand::Rng;
use pullwright_api::{NodeRuntime, condition};
use pullwright_operator::nodes::{NodeFacts, NodeStateFacts};
use pullwright_operator::provider_config::Platform;
use pullwright_operator::rollout::Progress;

/// In how many steps of a hundred an agent does nothing.
const IDLE: u8 = 30;
/// How many attempts of a thousand fail, to be tried again by the agent.
const HICCUPS: u16 = 20;
/// How many attempts of a hundred thousand fail and are rolled back, although nothing is wrong with the configuration.
const ROLLED_BACK: u32 = 30;

/// The objects of one kind: as they are, and as a watch shows them. It may be late or lost, but it never goes back.
pub(super) struct Kind<T> {
    pub(super) present: BTreeMap<String, Arc<T>>,
    pub(super) shown: BTreeMap<String, Arc<T>>,
    unseen: VecDeque<(usize, String, Option<Arc<T>>)>,
    lost_until: usize,
}

impl<T> Kind<T> {
    fn new() -> Self {
        Self { present: BTreeMap::new(), shown: BTreeMap::new(), unseen: VecDeque::new(), lost_until: 0 }
    }

    fn put(&mut self, step: usize, name: &str, object: Option<T>) {
        let object = object.map(Arc::new);
        match &object {
            Some(object) => self.present.insert(name.to_owned(), Arc::clone(object)),
            None => self.present.remove(name),
        };
        self.unseen.push_back((step, name.to_owned(), object));
    }

    /// Shows what was so `lag` steps ago, unless the watch is lost.
    pub(super) fn show(&mut self, step: usize, lag: usize) {
        if step < self.lost_until {
            return;
        }
        while self.unseen.front().is_some_and(|(at, ..)| at + lag <= step) {
            let Some((_, name, object)) = self.unseen.pop_front() else { break };
            match object {
                Some(object) => self.shown.insert(name, object),
                None => self.shown.remove(&name),
            };
        }
    }

    /// Loses the watch for some steps. Then everything is listed anew, and what was deleted meanwhile is only missing.
    pub(super) fn lose(&mut self, until: usize) {
        self.lost_until = until;
    }

    /// Lists everything if the watch was lost until now, or in any case.
    pub(super) fn list(&mut self, step: usize, anyway: bool) {
        if anyway || (self.lost_until > 0 && step >= self.lost_until) {
            self.shown = self.present.clone();
            self.unseen.clear();
            self.lost_until = 0;
        }
    }
}

pub(super) struct Cluster {
    pub(super) nodes: Kind<NodeFacts>,
    pub(super) states: Kind<NodeStateFacts>,
    /// Configurations that no node can take.
    pub(super) bad: BTreeSet<String>,
    /// How often agents failed.
    pub(super) failures: usize,
    made: usize,
    versions: usize,
}

impl Cluster {
    pub(super) fn new(nodes: usize) -> Self {
        let mut this = Self {
            nodes: Kind::new(),
            states: Kind::new(),
            bad: BTreeSet::new(),
            failures: 0,
            made: 0,
            versions: 0,
        };
        (0..nodes).for_each(|_| this.add(0));
        this.nodes.list(0, true);
        this
    }

    /// A Node joins.
    pub(super) fn add(&mut self, step: usize) {
        let name = format!("node-{}", self.made);
        self.make(step, &name);
    }

    fn make(&mut self, step: usize, name: &str) {
        self.made += 1;
        let runtime = if self.made.is_multiple_of(3) { NodeRuntime::Containerd } else { NodeRuntime::Crio };
        let node = NodeFacts {
            name: name.to_owned(),
            uid: format!("uid-{}", self.made),
            runtime: Some(runtime),
            platform: Platform::Other,
            zone: format!("zone-{}", self.made % 3),
            ready: true,
            cordoned: false,
        };
        self.nodes.put(step, name, Some(node));
    }

    /// The `index`th Node goes. Its object outlives it for a while.
    pub(super) fn remove(&mut self, step: usize, index: usize) -> Option<String> {
        let name = self.nodes.present.keys().nth(index)?.clone();
        self.nodes.put(step, &name, None);
        Some(name)
    }

    /// The `index`th Node is made anew under its name.
    pub(super) fn replace(&mut self, step: usize, index: usize) {
        if let Some(name) = self.remove(step, index) {
            self.make(step, &name);
        }
    }

    pub(super) fn change(&mut self, step: usize, index: usize, change: impl Fn(&mut NodeFacts)) {
        let Some(node) = self.nodes.present.values().nth(index) else { return };
        let mut node = NodeFacts::clone(node);
        change(&mut node);
        let name = node.name.clone();
        self.nodes.put(step, &name, Some(node));
    }

    /// Whether the object of a Node that is gone is still there.
    fn is_orphan(&self, state: &NodeStateFacts) -> bool {
        self.nodes.present.get(&state.name).is_none_or(|node| !state.is_of(node))
    }

    /// The garbage collector deletes the object of a Node that is gone.
    pub(super) fn collect_garbage(&mut self, step: usize) {
        let orphan = self.states.present.values().find(|state| self.is_orphan(state));
        if let Some(name) = orphan.map(|state| state.name.clone()) {
            self.states.put(step, &name, None);
        }
    }

    /// How many nodes were told to change and have not said that they did.
    pub(super) fn in_flight(&self) -> usize {
        let flying =
            |state: &&Arc<NodeStateFacts>| state.progress != Progress::Done && !self.is_orphan(state);
        self.states.present.values().filter(flying).count()
    }

    /// Writes what a node should have, if its object is still the one that the writer has seen. Returns its generation.
    pub(super) fn write(
        &mut self,
        step: usize,
        (name, uid): (&str, &str),
        seen: Option<&NodeStateFacts>,
        desired: Option<String>,
    ) -> Option<i64> {
        let present = self.states.present.get(name);
        if present.map(|state| &state.resource_version) != seen.map(|seen| &seen.resource_version) {
            return None;
        }
        // Nothing is made for a Node that is gone.
        if seen.is_none() && self.nodes.present.get(name).is_none_or(|node| node.uid != uid) {
            return None;
        }
        let mut state = present.map_or_else(NodeStateFacts::default, |state| NodeStateFacts::clone(state));
        (state.name, state.node) = (name.to_owned(), uid.to_owned());
        if present.is_none() || state.desired != desired {
            (state.desired, state.progress) = (desired, Progress::InFlight);
            state.generation += 1;
        }
        let generation = state.generation;
        self.put_state(step, state);
        Some(generation)
    }

    /// Deletes an object if it is still the one that the writer has seen, and its Node is gone.
    pub(super) fn delete(&mut self, step: usize, seen: &NodeStateFacts) -> bool {
        let present = self.states.present.get(&seen.name);
        let deleted = present.is_some_and(|present| {
            present.resource_version == seen.resource_version && self.is_orphan(present)
        });
        if deleted {
            self.states.put(step, &seen.name, None);
        }
        deleted
    }

    fn put_state(&mut self, step: usize, mut state: NodeStateFacts) {
        self.versions += 1;
        state.resource_version = self.versions.to_string();
        let name = state.name.clone();
        self.states.put(step, &name, Some(state));
    }

    /// Each agent that has something to do may do it now. In calm times, what fails works in the end.
    pub(super) fn agents(&mut self, step: usize, rng: &mut Rng, calm: bool) {
        let busy = |state: &&Arc<NodeStateFacts>| {
            let node = self.nodes.present.get(&state.name);
            // An agent tries again what was not rolled back.
            let tries = match &state.progress {
                Progress::Done => false,
                Progress::InFlight => true,
                Progress::Failed(reason) => reason != condition::ROLLED_BACK,
            };
            tries && node.is_some_and(|node| node.ready && state.is_of(node))
        };
        let busy: Vec<_> = self.states.present.values().filter(busy).cloned().collect();
        for state in busy {
            if rng.u8(..100) < IDLE {
                continue;
            }
            let mut state = NodeStateFacts::clone(&state);
            let bad = state.desired.as_ref().is_some_and(|desired| self.bad.contains(desired));
            state.progress = if bad || (!calm && rng.u32(..100_000) < ROLLED_BACK) {
                Progress::Failed(condition::ROLLED_BACK.to_owned())
            } else if rng.u16(..1000) < HICCUPS {
                Progress::Failed(condition::FAILED.to_owned())
            } else {
                state.actual.clone_from(&state.desired);
                Progress::Done
            };
            self.failures += usize::from(state.progress != Progress::Done);
            self.put_state(step, state);
        }
    }
}
