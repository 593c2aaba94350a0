//! From what the caches have to what the plan is made from.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::pace::Pace;
use super::plan::{ObservedState, Progress, RolloutNode};
use crate::nodes::{NodeFacts, NodeStateFacts};

/// The `NodeState`s, by name.
pub type NodeStates = BTreeMap<String, Arc<NodeStateFacts>>;

/// What the plan is made from.
#[derive(Debug)]
pub struct PacedNodes<'a> {
    /// The nodes that can be configured.
    pub nodes: Vec<RolloutNode>,
    /// How many others are in flight. Their Nodes are gone, or the watch does not show them yet; each of the two watches has a pace of
    /// its own.
    pub elsewhere: usize,
    /// The objects whose Nodes are gone, as far as the watch shows, and that matter: they are in flight, or another Node has their name now
    /// and may obey them.
    pub outlived: Vec<&'a NodeStateFacts>,
}

impl Pace {
    /// Looks at the nodes. What they were told and the watch does not show yet counts; what it shows is forgotten.
    pub fn observe<'a>(&mut self, nodes: &[Arc<NodeFacts>], states: &'a NodeStates) -> PacedNodes<'a> {
        let of = |node: &NodeFacts| states.get(&node.name).filter(|state| state.is_of(node));
        let mut shown: HashMap<&str, i64> =
            states.values().map(|state| (state.node.as_str(), state.generation)).collect();
        shown.extend(nodes.iter().filter_map(|node| Some((node.uid.as_str(), of(node)?.generation))));
        self.forget_shown(&shown);

        let known: HashSet<&str> = nodes.iter().map(|node| node.uid.as_str()).collect();
        let names: HashSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let orphans = states.values().filter(|state| !state.node.is_empty() && !known.contains(&*state.node));
        let in_flight = |state: &&Arc<NodeStateFacts>| state.progress != Progress::Done;
        let unknown = self.told_nodes().filter(|uid| !known.contains(uid));
        // Those whose name another Node has count with that Node.
        let unnamed = orphans.clone().filter(|state| in_flight(state) && !names.contains(&*state.name));
        let elsewhere: HashSet<&str> = unknown.chain(unnamed.map(|state| state.node.as_str())).collect();
        let elsewhere = elsewhere.len();
        let outlived = orphans.filter(|state| in_flight(state) || names.contains(&*state.name));
        let outlived = outlived.map(|state| &**state).collect();
        let nodes = nodes.iter().filter_map(|node| self.node(node, states.get(&node.name))).collect();
        PacedNodes { nodes, elsewhere, outlived }
    }

    fn node(&self, facts: &NodeFacts, state: Option<&Arc<NodeStateFacts>>) -> Option<RolloutNode> {
        let state = state.map(|state| ObservedState {
            desired: state.desired.clone(),
            actual: state.actual.clone(),
            // What a Node said that was deleted is not about the one that has its name now, which may obey it all the same.
            progress: if state.is_of(facts) { state.progress.clone() } else { Progress::InFlight },
        });
        Some(RolloutNode {
            name: facts.name.clone(),
            uid: facts.uid.clone(),
            zone: facts.zone.clone(),
            runtime: facts.runtime?,
            ready: facts.ready,
            cordoned: facts.cordoned,
            state: self.overlay(&facts.uid, state),
        })
    }
}
