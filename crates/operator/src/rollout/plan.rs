//! The decision.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pullwright_api::{NodeProgress, NodeRuntime};
use sha2::{Digest as _, Sha256};

/// How fast a roll-out may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RolloutPolicy {
    /// How many nodes may be unavailable at a time, across the cluster.
    pub max_unavailable: MaxUnavailable,
    /// How many nodes of each runtime try a new configuration before the others get it.
    pub canaries: usize,
}

/// A number of nodes, or a part of all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxUnavailable {
    /// So many. Zero pauses all roll-outs.
    Nodes(usize),
    /// So many in a hundred, rounded down, and at least one.
    Percent(u8),
}

impl MaxUnavailable {
    /// The number for a cluster of this size.
    #[must_use]
    pub fn of(self, nodes: usize) -> usize {
        match self {
            Self::Nodes(count) => count,
            Self::Percent(0) => 0,
            Self::Percent(percent) => (nodes.saturating_mul(usize::from(percent)) / 100).max(1),
        }
    }
}

impl FromStr for MaxUnavailable {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.strip_suffix('%') {
            Some(percent) => {
                percent.parse().ok().filter(|percent| *percent <= 100).map(Self::Percent).ok_or(())
            }
            None => text.parse().map(Self::Nodes).map_err(drop),
        }
    }
}

/// How far the configuration that nodes of a runtime should have is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// Not at all, or not for long enough.
    New,
    /// The canaries have had it for long enough.
    CanariesDid,
    /// All nodes have had it.
    RolledOut,
}

/// What nodes of a runtime should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The name of the configuration; `None` for the node's own files.
    pub wanted: Option<String>,
    /// How far it is tried.
    pub proof: Proof,
    /// The last configuration that all nodes had, for nodes that join while another one is being tried.
    pub last_rolled_out: Option<String>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutNode {
    /// Its name.
    pub name: String,
    /// Which node of that name it is. A node that was made anew is another node.
    pub uid: String,
    /// Where it is; a roll-out finishes one zone before it begins the next.
    pub zone: String,
    /// Its runtime.
    pub runtime: NodeRuntime,
    /// Whether the control plane takes it for healthy.
    pub ready: bool,
    /// Whether no new Pods come to it. Nothing is proved there, so it is the last to try.
    pub cordoned: bool,
    /// What it should have and has; `None` if it was never told.
    pub state: Option<ObservedState>,
}

/// What a node should have and has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedState {
    /// What it was told to have.
    pub desired: Option<String>,
    /// What it says that it has.
    pub actual: Option<String>,
    /// How far it is.
    pub progress: Progress,
}

/// How far a node is with what it was told last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Progress {
    /// It has not taken note of it yet, or is being changed.
    #[default]
    InFlight,
    /// It has it.
    Done,
    /// It could not take it, for this reason. It may still be trying.
    Failed(String),
}

impl From<NodeProgress<'_>> for Progress {
    fn from(progress: NodeProgress<'_>) -> Self {
        match progress {
            NodeProgress::InFlight => Self::InFlight,
            NodeProgress::Done => Self::Done,
            NodeProgress::Failed(ready) => Self::Failed(ready.reason.clone()),
        }
    }
}

impl RolloutNode {
    fn desired(&self) -> Option<&str> {
        self.state.as_ref().and_then(|state| state.desired.as_deref())
    }

    fn actual(&self) -> Option<&str> {
        self.state.as_ref().and_then(|state| state.actual.as_deref())
    }

    fn failed(&self) -> bool {
        self.state.as_ref().is_some_and(|state| matches!(state.progress, Progress::Failed(_)))
    }

    /// Whether it was told to have this, and does.
    #[must_use]
    pub fn has(&self, wanted: Option<&str>) -> bool {
        self.state.is_some() && self.desired() == wanted && !self.in_flight()
    }

    /// Whether it was told to change and has not said that it did. That holds for one that failed, too: it may still be trying.
    #[must_use]
    pub fn in_flight(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.progress != Progress::Done)
    }
}

/// What a node is told to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The node.
    pub node: String,
    /// The name of the configuration; `None` for the node's own files.
    pub configuration: Option<String>,
}

/// How far the roll-out for a runtime is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RolloutStage {
    /// All nodes have it.
    Done,
    /// The canaries are trying it, or have it and it is too early to say.
    Canary,
    /// The others follow.
    Waves,
    /// These nodes could not take it, so nobody follows.
    Stopped(Vec<String>),
}

/// What to do now, and how far everything is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RolloutPlan {
    /// What to tell nodes, in order.
    pub assignments: Vec<Assignment>,
    /// The stage of each runtime.
    pub stages: BTreeMap<NodeRuntime, RolloutStage>,
}

/// The configuration that all nodes of a runtime have, if there is one. It need not be what they should have by now.
#[must_use]
pub fn had_by_all(nodes: &[RolloutNode], runtime: NodeRuntime) -> Option<&str> {
    let mut nodes = nodes.iter().filter(|node| node.runtime == runtime);
    let first = nodes.next()?;
    let has = |node: &RolloutNode| node.has(first.desired());
    if has(first) && nodes.all(has) { first.desired() } else { None }
}

/// How many more nodes may be told to change.
struct Room {
    /// At all. Nodes that are unhealthy today may all come back at the same moment, so they count too once they are told.
    flights: usize,
    /// Of those that are healthy.
    healthy: usize,
}

impl Room {
    /// Takes the place of a node. One that is in flight has it already.
    fn take(&mut self, node: &RolloutNode) -> bool {
        if node.in_flight() {
            return true;
        }
        if self.flights == 0 || (node.ready && self.healthy == 0) {
            return false;
        }
        self.flights -= 1;
        self.healthy -= usize::from(node.ready);
        true
    }
}

/// Decides. `revisions` names what each runtime should have; nodes of other runtimes are left alone. `elsewhere` is how many nodes are in
/// flight beside these.
#[must_use]
pub fn plan(
    policy: &RolloutPolicy,
    revisions: &BTreeMap<NodeRuntime, Revision>,
    nodes: &[RolloutNode],
    elsewhere: usize,
) -> RolloutPlan {
    let max = policy.max_unavailable.of(nodes.len());
    let in_flight = elsewhere + nodes.iter().filter(|node| node.in_flight()).count();
    let disturbed = in_flight + nodes.iter().filter(|node| !node.in_flight() && !node.ready).count();
    let mut room = Room { flights: max.saturating_sub(in_flight), healthy: max.saturating_sub(disturbed) };
    let mut plan = RolloutPlan::default();
    // A paused cluster takes back nothing and tells nothing, not even for free.
    let paused = max == 0;
    for (runtime, revision) in revisions {
        let nodes: Vec<&RolloutNode> = nodes.iter().filter(|node| node.runtime == *runtime).collect();
        let stage = stage(revision, &nodes);
        if !paused {
            let turn = Turn { policy, revision, stage: &stage, nodes: &nodes };
            turn.assign(&mut room, &mut plan.assignments);
        }
        plan.stages.insert(*runtime, stage);
    }
    plan
}

fn stage(revision: &Revision, nodes: &[&RolloutNode]) -> RolloutStage {
    let wanted = revision.wanted.as_deref();
    let failed = nodes.iter().filter(|node| node.failed() && node.desired() == wanted);
    let failed: Vec<String> = failed.map(|node| node.name.clone()).collect();
    if !failed.is_empty() {
        RolloutStage::Stopped(failed)
    } else if nodes.iter().all(|node| node.desired() == wanted && !node.in_flight()) {
        RolloutStage::Done
    } else if revision.proof == Proof::New {
        RolloutStage::Canary
    } else {
        RolloutStage::Waves
    }
}

/// The decision for the nodes of one runtime.
struct Turn<'a> {
    policy: &'a RolloutPolicy,
    revision: &'a Revision,
    stage: &'a RolloutStage,
    nodes: &'a [&'a RolloutNode],
}

impl Turn<'_> {
    fn assign(&self, room: &mut Room, told: &mut Vec<Assignment>) {
        let wanted = self.revision.wanted.as_deref();
        let behind: Vec<&RolloutNode> =
            self.nodes.iter().copied().filter(|node| node.desired() != wanted).collect();
        // Telling a node to have what it has disturbs nobody: it was told to have something that is wanted no more, so it is in flight.
        for node in behind.iter().filter(|node| node.actual() == wanted && node.state.is_some()) {
            told.push(assignment(node, wanted));
        }
        let mut behind: Vec<&RolloutNode> =
            behind.into_iter().filter(|node| node.actual() != wanted || node.state.is_none()).collect();
        behind.sort_by_cached_key(|node| self.order(node));
        match self.stage {
            RolloutStage::Done => {}
            RolloutStage::Stopped(_) => self.join(&behind, room, told),
            RolloutStage::Canary => {
                let tried =
                    self.nodes.iter().filter(|node| node.state.is_some() && node.desired() == wanted).count();
                let missing = self.policy.canaries.max(1).saturating_sub(tried);
                let canaries = self.canaries(&behind, missing);
                let chosen: BTreeSet<&str> = canaries.iter().map(|node| node.name.as_str()).collect();
                start(canaries, wanted, room, told);
                let others: Vec<&RolloutNode> =
                    behind.into_iter().filter(|node| !chosen.contains(node.name.as_str())).collect();
                self.join(&others, room, told);
            }
            RolloutStage::Waves => start(behind, wanted, room, told),
        }
    }

    /// The nodes that try first: healthy ones, and rather those that are disturbed already.
    fn canaries<'n>(&self, behind: &[&'n RolloutNode], count: usize) -> Vec<&'n RolloutNode> {
        // With something that all nodes have had, a node that joins gets that, and somebody else tries.
        let has_old = self.revision.last_rolled_out.is_some();
        let fit = |node: &&&RolloutNode| node.ready && !(has_old && node.state.is_none());
        let (flying, resting): (Vec<_>, Vec<_>) =
            behind.iter().filter(fit).copied().partition(|node| node.in_flight());
        flying.into_iter().chain(resting).take(count).collect()
    }

    /// Nodes that join while something is tried get what all nodes had before.
    fn join(&self, behind: &[&RolloutNode], room: &mut Room, told: &mut Vec<Assignment>) {
        let Some(old) = self.revision.last_rolled_out.as_deref() else { return };
        let joining = behind.iter().copied().filter(|node| node.state.is_none());
        start(joining, Some(old), room, told);
    }

    /// Cordoned nodes last, zone by zone; within a zone in an order that differs from revision to revision, so that it is not always the
    /// same node that tries first, and that does not change while a revision is rolled out.
    fn order(&self, node: &RolloutNode) -> (bool, String, [u8; 32]) {
        let mut digest = Sha256::new();
        digest.update(node.uid.as_bytes());
        digest.update([0]);
        digest.update(self.revision.wanted.as_deref().unwrap_or_default().as_bytes());
        (node.cordoned, node.zone.clone(), digest.finalize().into())
    }
}

/// Tells nodes to change, as long as there is room.
fn start<'n>(
    nodes: impl IntoIterator<Item = &'n RolloutNode>,
    wanted: Option<&str>,
    room: &mut Room,
    told: &mut Vec<Assignment>,
) {
    told.extend(nodes.into_iter().filter(|node| room.take(node)).map(|node| assignment(node, wanted)));
}

fn assignment(node: &RolloutNode, wanted: Option<&str>) -> Assignment {
    Assignment { node: node.name.clone(), configuration: wanted.map(str::to_owned) }
}
