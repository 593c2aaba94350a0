//! The leader of a simulation: the operator's decisions, and a shell like the operator's own around them, with requests that get lost.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use anyhow::{Result, bail};
use pullwright_api::NodeRuntime;
use pullwright_operator::nodes::NodeStateFacts;
use pullwright_operator::rollout::{
    Assignment, Pace, PacedNodes, Proof, Revision, RolloutNode, had_by_all, plan,
};
use tokio::time::Instant;

use super::{RUNTIMES, WRITES_PER_CHANGE, World};

/// How long canaries must be well.
const SOAK: Duration = Duration::from_secs(10);

/// What a leader remembers.
pub(super) struct Replica {
    pace: Pace,
    stale: bool,
}

impl Replica {
    pub(super) fn new() -> Self {
        Self { pace: Pace::default(), stale: true }
    }
}

/// What becomes of a request.
#[derive(PartialEq)]
enum Fate {
    Arrives,
    IsLost,
    AnswerIsLost,
}

impl World {
    /// One pass of the leader.
    pub(super) fn pass(&mut self, calm: bool) -> Result<()> {
        let now = self.now();
        if self.replica.stale || self.replica.pace.is_overdue(now) {
            self.read_afresh(now);
        }
        let nodes: Vec<_> = self.cluster.nodes.shown.values().cloned().collect();
        let states = self.cluster.states.shown.clone();
        let begun = std::time::Instant::now();
        let PacedNodes { nodes, elsewhere, outlived } = self.replica.pace.observe(&nodes, &states);
        let revisions = self.revisions(&nodes, now);
        let planned = plan(&self.policy, &revisions, &nodes, elsewhere);
        self.seen.longest_decision = self.seen.longest_decision.max(begun.elapsed());
        let blocked: HashSet<&str> = outlived.iter().map(|state| state.name.as_str()).collect();
        for state in outlived {
            self.seen.writes += usize::from(self.cluster.delete(self.step, state));
        }
        // A leader that is killed in the middle of its writes carries out the first of them.
        let killed = !calm && self.rng.u8(..100) == 0;
        let carried_out = if killed { self.rng.usize(..=planned.assignments.len()) } else { usize::MAX };
        for assignment in planned.assignments.iter().take(carried_out) {
            let node = nodes.iter().find(|node| node.name == assignment.node);
            let Some(node) = node.filter(|node| !blocked.contains(node.name.as_str())) else { continue };
            self.tell(node, states.get(&node.name).map(|state| &**state), assignment, calm)?;
        }
        if killed {
            self.restart();
            return Ok(());
        }
        for runtime in RUNTIMES {
            self.rolled_out.extend(had_by_all(&nodes, runtime).map(|had| (runtime, had.to_owned())));
        }
        Ok(())
    }

    fn now(&self) -> Instant {
        self.began + Duration::from_secs(self.step as u64)
    }

    fn read_afresh(&mut self, now: Instant) {
        self.replica.pace.forget_told();
        for state in self.cluster.states.present.values() {
            let shown = self.cluster.states.shown.get(&state.name);
            if shown.is_none_or(|shown| shown.node != state.node || shown.generation < state.generation) {
                self.replica.pace.tell(&state.node, state.desired.clone(), state.generation, now);
            }
        }
        self.replica.stale = false;
    }

    fn revisions(&mut self, nodes: &[RolloutNode], now: Instant) -> BTreeMap<NodeRuntime, Revision> {
        let mut revisions = BTreeMap::new();
        for runtime in RUNTIMES {
            let wanted = self.wanted.get(&runtime).cloned();
            let last_rolled_out = self.rolled_out.get(&runtime).cloned();
            let proof = if last_rolled_out == wanted { Proof::RolledOut } else { Proof::New };
            let mut revision = Revision { wanted, proof, last_rolled_out };
            let proof = self.replica.pace.proof(&self.policy, SOAK, runtime, &revision, nodes, now);
            revision.proof = proof.0;
            revisions.insert(runtime, revision);
        }
        revisions
    }

    fn tell(
        &mut self,
        node: &RolloutNode,
        seen: Option<&NodeStateFacts>,
        assignment: &Assignment,
        calm: bool,
    ) -> Result<()> {
        let fate = match self.rng.u8(..100) {
            0 if !calm => Fate::IsLost,
            1 if !calm => Fate::AnswerIsLost,
            _ => Fate::Arrives,
        };
        self.seen.lost_requests += usize::from(fate != Fate::Arrives);
        let mut answer = None;
        if fate != Fate::IsLost {
            let desired = assignment.configuration.clone();
            answer = self.cluster.write(self.step, (&node.name, &node.uid), seen, desired);
            if answer.is_some() {
                self.count(node)?;
            }
        }
        let generation = match fate {
            Fate::Arrives => answer,
            // Perhaps it was told.
            Fate::IsLost | Fate::AnswerIsLost => Some(seen.map_or(1, |seen| seen.generation + 1)),
        };
        if let Some(generation) = generation {
            let now = self.now();
            self.replica.pace.tell(&node.uid, assignment.configuration.clone(), generation, now);
        }
        Ok(())
    }

    /// Counts a write that took effect, and checks what it must not break.
    fn count(&mut self, node: &RolloutNode) -> Result<()> {
        self.seen.writes += 1;
        let told = self.told.entry(node.uid.clone()).or_default();
        *told += 1;
        self.seen.most_writes = self.seen.most_writes.max(*told);
        if *told > WRITES_PER_CHANGE {
            bail!("{:?}, step {}: {} was told something {told} times", self.scenario, self.step, node.name);
        }
        let in_flight = self.cluster.in_flight();
        self.seen.most_in_flight = self.seen.most_in_flight.max(in_flight);
        if in_flight > self.scenario.max_unavailable {
            bail!("{:?}, step {}: {in_flight} nodes at once", self.scenario, self.step);
        }
        Ok(())
    }
}
