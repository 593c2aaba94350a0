//! The part of a pass that tells nodes what to have, as fast as the policy allows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::api::{ApiResource, ListParams};
use kube::{Api, Client};
use pullwright_api::{NodeConfiguration, NodeRuntime, NodeState, names};
use serde_json::{Value, json};

use super::decide::Decision;
use super::facts::NodeStateFacts;
use super::observed::{Observed, ObservedDelivery, OwnConfiguration, last_rolled_out};
use crate::cache::ObjectKey;
use crate::category::Category;
use crate::rollout::{
    Assignment, ObservedState, Pace, Proof, Revision, RolloutNode, RolloutPolicy, RolloutStage, plan,
};
use crate::write::{Fingerprint, ObjectWrite, OwnObject, WantedObject, WriteError, Writer};

/// How fast configurations are rolled out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RolloutSettings {
    /// How many nodes at a time, and how many first.
    pub policy: RolloutPolicy,
    /// How long canaries must be well before the others follow.
    pub soak: Duration,
}

/// Tells nodes what to have.
#[derive(Debug)]
pub(crate) struct Pacing {
    settings: RolloutSettings,
    pace: Pace,
    /// Whether the objects must be read afresh, because another replica may have told nodes something that the watch does not show yet.
    stale: bool,
}

/// How the turn ended.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// What failed.
    pub(crate) errors: Vec<WriteError>,
    /// When to look again although nothing changes.
    pub(crate) again: Option<Duration>,
}

impl Pacing {
    pub(crate) fn new(settings: RolloutSettings) -> Self {
        Self { settings, pace: Pace::default(), stale: true }
    }

    /// This replica begins to lead.
    pub(crate) fn begin(&mut self) {
        *self = Self::new(self.settings);
    }

    /// Tells nodes what they may take now. `failures` names configurations that could not be written.
    pub(crate) async fn turn(
        &mut self,
        client: &Client,
        writer: &Writer,
        observed: &Observed,
        decision: &Decision,
        failures: &BTreeMap<String, (Category, String)>,
    ) -> kube::Result<Turn> {
        let ObservedDelivery::NodeAgent { own, states } = &observed.delivery else {
            return Ok(Turn::default());
        };
        let states: BTreeMap<&str, &NodeStateFacts> =
            states.iter().map(|state| (state.name.as_str(), &**state)).collect();
        if self.stale {
            self.read_afresh(client, &states).await?;
            self.stale = false;
        }
        self.pace.forget_seen(&states.iter().map(|(name, state)| (*name, state.generation)).collect());
        let nodes = self.nodes(observed, &states);
        let (revisions, again) = self.revisions(own, decision, failures, &nodes);
        let planned = plan(&self.settings.policy, &revisions, &nodes);
        let mut turn = Turn { errors: Vec::new(), again };
        let by_name: BTreeMap<&str, &RolloutNode> =
            nodes.iter().map(|node| (node.name.as_str(), node)).collect();
        for assignment in &planned.assignments {
            let Some(node) = by_name.get(assignment.node.as_str()) else { continue };
            match self.tell(writer, node, states.get(node.name.as_str()).copied(), assignment).await {
                Ok(()) => {}
                Err(WriteError::NotLeading) => return Ok(turn),
                Err(error) => turn.errors.push(error),
            }
        }
        for (runtime, stage) in &planned.stages {
            let wanted = revisions.get(runtime).and_then(|revision| revision.wanted.as_deref());
            let present = own.iter().find(|own| Some(own.object.key.name.as_str()) == wanted);
            let Some(present) = present.filter(|own| own.rolled_out.is_none()) else { continue };
            // At rest this is done once for each configuration.
            if *stage == RolloutStage::Done && nodes.iter().any(|node| node.runtime == *runtime) {
                let kind = ApiResource::erase::<NodeConfiguration>(&());
                let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                turn.errors
                    .extend(writer.annotate(&kind, &present.object, names::ROLLED_OUT, &now).await.err());
            }
        }
        Ok(turn)
    }

    /// Reads what all nodes were told from the API server itself.
    async fn read_afresh(
        &mut self,
        client: &Client,
        seen: &BTreeMap<&str, &NodeStateFacts>,
    ) -> kube::Result<()> {
        let api: Api<NodeState> = Api::all(client.clone());
        let mut page = ListParams::default().limit(500);
        loop {
            let list = api.list(&page).await?;
            for state in list.items {
                let state = NodeStateFacts::from(state);
                let shown =
                    seen.get(state.name.as_str()).is_some_and(|seen| seen.generation >= state.generation);
                if !shown {
                    self.pace.tell(&state.name, state.desired, state.generation);
                }
            }
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => return Ok(()),
            }
        }
    }

    fn nodes(&self, observed: &Observed, states: &BTreeMap<&str, &NodeStateFacts>) -> Vec<RolloutNode> {
        let node = |facts: &Arc<super::NodeFacts>| {
            let runtime = facts.runtime?;
            // An object of a Node that was deleted says nothing about the one that has its name now.
            let state = states
                .get(facts.name.as_str())
                .filter(|state| state.node.is_empty() || state.node == facts.uid);
            let state = state.map(|state| ObservedState {
                desired: state.desired.clone(),
                actual: state.actual.clone(),
                noted: state.noted,
                failed: state.failure.is_some(),
            });
            Some(RolloutNode {
                name: facts.name.clone(),
                uid: facts.uid.clone(),
                zone: facts.zone.clone(),
                runtime,
                ready: facts.ready,
                state: self.pace.overlay(&facts.name, state),
            })
        };
        observed.nodes.iter().filter_map(node).collect()
    }

    /// What each runtime should have. Runtimes whose configuration could not be written are left alone.
    fn revisions(
        &mut self,
        own: &[Arc<OwnConfiguration>],
        decision: &Decision,
        failures: &BTreeMap<String, (Category, String)>,
        nodes: &[RolloutNode],
    ) -> (BTreeMap<NodeRuntime, Revision>, Option<Duration>) {
        let (mut revisions, mut again) = (BTreeMap::new(), None);
        for runtime in NodeRuntime::ALL {
            let target = decision.targets.iter().find(|target| target.name == runtime.name());
            let Some(target) = target.filter(|target| target.refused.is_none()) else { continue };
            if target.object.as_ref().is_some_and(|object| failures.contains_key(object)) {
                continue;
            }
            let wanted = target.object.clone();
            let present = own.iter().find(|own| Some(&own.object.key.name) == wanted.as_ref());
            let rolled_out = present.is_some_and(|own| own.rolled_out.is_some());
            let mut revision = Revision {
                last_rolled_out: last_rolled_out(own, runtime).map(str::to_owned),
                proof: if rolled_out { Proof::RolledOut } else { Proof::New },
                wanted,
            };
            let (policy, soak) = (&self.settings.policy, self.settings.soak);
            let (proof, wait) = self.pace.proof(policy, soak, runtime, &revision, nodes);
            revision.proof = proof;
            again = again.into_iter().chain(wait).min();
            revisions.insert(runtime, revision);
        }
        (revisions, again)
    }

    async fn tell(
        &mut self,
        writer: &Writer,
        node: &RolloutNode,
        state: Option<&NodeStateFacts>,
        assignment: &Assignment,
    ) -> Result<(), WriteError> {
        let wanted = node_state(node, assignment);
        let write = match state {
            Some(state) => ObjectWrite::Replace(wanted, own_state(state)),
            None => ObjectWrite::Create(wanted),
        };
        let generation = writer.carry_out(&ApiResource::erase::<NodeState>(&()), &write).await?;
        self.pace.tell(&node.name, assignment.configuration.clone(), generation.unwrap_or_default());
        Ok(())
    }
}

fn node_state(node: &RolloutNode, assignment: &Assignment) -> WantedObject {
    let mut spec = json!({});
    if let Some(configuration) = &assignment.configuration {
        spec["configuration"] = json!(configuration);
    }
    let kind = ApiResource::erase::<NodeState>(&());
    let body = json!({
        "apiVersion": kind.api_version, "kind": kind.kind,
        "metadata": {
            "name": node.name,
            "labels": {names::MANAGED_BY: names::OPERATOR},
            // It goes with its Node.
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}],
        },
        "spec": spec,
    });
    let key = ObjectKey { namespace: String::new(), name: node.name.clone() };
    WantedObject { key, content: Fingerprint::of(&body["spec"]), body }
}

fn own_state(state: &NodeStateFacts) -> OwnObject {
    OwnObject {
        key: ObjectKey { namespace: String::new(), name: state.name.clone() },
        uid: state.uid.clone(),
        resource_version: state.resource_version.clone(),
        content: Fingerprint::of(&Value::Null),
        size: 0,
    }
}
