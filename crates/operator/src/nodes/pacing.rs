//! The part of a pass that tells nodes what to have, as fast as the policy allows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::{ApiResource, ListParams};
use kube::core::DeserializeGuard;
use kube::{Api, Client, ResourceExt as _};
use pullwright_api::{NodeConfiguration, NodeRuntime, NodeState, names};
use pullwright_daemon::message;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::decide::Decision;
use super::discover::READS_WITHIN;
use super::facts::NodeStateFacts;
use super::observed::{Observed, ObservedDelivery, OwnConfiguration, last_rolled_out};
use crate::cache::ObjectKey;
use crate::category::Category;
use crate::rollout::{
    Assignment, NodeStates, Pace, PacedNodes, Proof, Revision, RolloutNode, RolloutPolicy, RolloutStage,
    SHOWN_WITHIN, had_by_all, plan,
};
use crate::write::{Fingerprint, ObjectWrite, OwnObject, WantedObject, WriteError, Writer};

/// How many objects are read with one request.
const AT_A_TIME: u32 = 500;

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
    /// The stages that were logged last.
    stages: BTreeMap<NodeRuntime, RolloutStage>,
}

/// How the turn ended.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// What failed.
    pub(crate) errors: Vec<WriteError>,
    /// When to look again although nothing changes.
    pub(crate) again: Option<Duration>,
}

/// A read that failed: the category and what happened.
pub(crate) type ReadError = (Category, String);

impl Pacing {
    pub(crate) fn new(settings: RolloutSettings) -> Self {
        Self { settings, pace: Pace::default(), stale: true, stages: BTreeMap::new() }
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
    ) -> Result<Turn, ReadError> {
        let ObservedDelivery::NodeAgent { own, states } = &observed.delivery else {
            return Ok(Turn::default());
        };
        let states: NodeStates = states.iter().map(|state| (state.name.clone(), Arc::clone(state))).collect();
        if self.stale || self.pace.is_overdue(Instant::now()) {
            self.read_afresh(client, &states).await?;
            self.stale = false;
        }
        let PacedNodes { nodes, elsewhere, outlived } = self.pace.observe(&observed.nodes, &states);
        let mut turn = Turn::default();
        // Whoever has the name of such a Node now is told something when its object is gone.
        let blocked: HashSet<&str> = outlived.iter().map(|state| state.name.as_str()).collect();
        for state in outlived {
            turn.errors.extend(take_away(client, writer, state).await?);
        }
        let (revisions, again) = self.revisions(own, decision, failures, &nodes);
        turn.again = again;
        let planned = plan(&self.settings.policy, &revisions, &nodes, elsewhere);
        let by_name: HashMap<&str, &RolloutNode> =
            nodes.iter().map(|node| (node.name.as_str(), node)).collect();
        let free = |assignment: &&Assignment| !blocked.contains(assignment.node.as_str());
        for assignment in planned.assignments.iter().filter(free) {
            let Some(node) = by_name.get(assignment.node.as_str()) else { continue };
            let state = states.get(&node.name).map(|state| &**state);
            // The watch may show a Node that is gone. Its object would go at once, and be made again and again.
            if state.is_none() && !is_present(client, &node.name, &node.uid).await? {
                continue;
            }
            match self.tell(writer, node, state, assignment).await {
                Ok(()) => {}
                Err(WriteError::NotLeading) => return Ok(turn),
                Err(error) => turn.errors.push(error),
            }
        }
        turn.errors.extend(note_rolled_out(writer, own, &nodes).await);
        self.log(&revisions, planned.stages);
        if self.pace.waits() {
            turn.again = Some(turn.again.map_or(SHOWN_WITHIN, |again| again.min(SHOWN_WITHIN)));
        }
        Ok(turn)
    }

    /// Reads what all nodes were told from the API server itself.
    async fn read_afresh(&mut self, client: &Client, seen: &NodeStates) -> Result<(), ReadError> {
        let api: Api<DeserializeGuard<NodeState>> = Api::all(client.clone());
        let mut page = ListParams::default().limit(AT_A_TIME);
        let mut unseen = Vec::new();
        loop {
            let list = read("NodeStates", api.list(&page)).await?;
            // One that cannot be read counts as the watch last showed it.
            for state in list.items.into_iter().filter_map(|state| state.0.ok()) {
                let state = NodeStateFacts::from(state);
                let shown = seen
                    .get(&state.name)
                    .is_some_and(|seen| seen.uid == state.uid && seen.generation >= state.generation);
                if !shown {
                    unseen.push(state);
                }
            }
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => break,
            }
        }
        self.pace.forget_told();
        for state in unseen {
            self.pace.tell(&state.node, state.desired, state.generation, Instant::now());
        }
        Ok(())
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
            let (proof, wait) = self.pace.proof(policy, soak, runtime, &revision, nodes, Instant::now());
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
        let kind = ApiResource::erase::<NodeState>(&());
        let body = node_state(node, assignment);
        let result = if let Some(state) = state {
            let mut changes = json!({"spec": {"configuration": assignment.configuration}});
            for field in ["labels", "ownerReferences"] {
                changes["metadata"][field] = body["metadata"][field].clone();
            }
            writer.change(&kind, &own_state(state), changes).await
        } else {
            let key = ObjectKey { namespace: String::new(), name: node.name.clone() };
            let wanted = WantedObject { key, content: Fingerprint::of(&body["spec"]), body };
            writer.make(&kind, &wanted).await
        };
        let generation = match &result {
            Ok(generation) => generation.unwrap_or_default(),
            // The answer was lost, but perhaps not the write. Until that is known, the node counts as told.
            Err(error) if error.category() == Some(Category::ApiUnavailable) => {
                state.map_or(1, |state| state.generation + 1)
            }
            Err(_) => return result.map(drop),
        };
        self.pace.tell(&node.uid, assignment.configuration.clone(), generation, Instant::now());
        result.map(drop)
    }

    /// Logs how far the roll-outs are, where that is new.
    fn log(
        &mut self,
        revisions: &BTreeMap<NodeRuntime, Revision>,
        stages: BTreeMap<NodeRuntime, RolloutStage>,
    ) {
        for (runtime, stage) in &stages {
            if self.stages.get(runtime) == Some(stage) {
                continue;
            }
            let configuration = revisions.get(runtime).and_then(|revision| revision.wanted.as_deref());
            let runtime = runtime.name();
            match stage {
                RolloutStage::Done => tracing::info!(runtime, configuration, "all nodes have it"),
                RolloutStage::Canary => tracing::info!(runtime, configuration, "canaries try it"),
                RolloutStage::Waves => tracing::info!(runtime, configuration, "the other nodes follow"),
                RolloutStage::Stopped(failed) => tracing::warn!(
                    runtime,
                    configuration,
                    nodes = failed.len(),
                    first = failed.first().map(String::as_str),
                    "the roll-out is stopped, because nodes could not take it"
                ),
            }
        }
        self.stages = stages;
    }
}

async fn read<T>(what: &str, request: impl Future<Output = kube::Result<T>>) -> Result<T, ReadError> {
    match timeout(READS_WITHIN, request).await {
        Ok(answer) => {
            answer.map_err(|error| (Category::of(&error), format!("reading {what}: {}", message(&error))))
        }
        Err(_) => Err((Category::ApiUnavailable, format!("reading {what}: no answer in time"))),
    }
}

/// Deletes the object of a Node that is no more. The garbage collector does so too, but until then a Node that has its name now may obey it,
/// and one that was in flight keeps its place.
async fn take_away(
    client: &Client,
    writer: &Writer,
    state: &NodeStateFacts,
) -> Result<Option<WriteError>, ReadError> {
    // The watches do not say which of the two is newer, the Node or the object.
    if is_present(client, &state.name, &state.node).await? {
        return Ok(None);
    }
    let write = ObjectWrite::Delete(own_state(state));
    Ok(writer.carry_out(&ApiResource::erase::<NodeState>(&()), &write).await.err())
}

/// Whether there is this very Node, by the API server itself.
async fn is_present(client: &Client, name: &str, uid: &str) -> Result<bool, ReadError> {
    let api: Api<Node> = Api::all(client.clone());
    let present = read(&format!("Node {name}"), api.get_metadata_opt(name)).await?;
    Ok(present.and_then(|present| present.uid()).is_some_and(|present| present == uid))
}

/// Notes on the configuration of each runtime that all nodes have now that they have. At rest this is done once for each.
async fn note_rolled_out(
    writer: &Writer,
    own: &[Arc<OwnConfiguration>],
    nodes: &[RolloutNode],
) -> Vec<WriteError> {
    let mut errors = Vec::new();
    let mut number = own.iter().filter_map(|own| own.rolled_out).max().unwrap_or_default();
    for runtime in NodeRuntime::ALL {
        let had = had_by_all(nodes, runtime).filter(|had| last_rolled_out(own, runtime) != Some(had));
        let Some(present) = own.iter().find(|own| Some(own.object.key.name.as_str()) == had) else {
            continue;
        };
        number += 1;
        let kind = ApiResource::erase::<NodeConfiguration>(&());
        let changes = json!({"metadata": {"annotations": {names::ROLLED_OUT: number.to_string()}}});
        let result = writer.change(&kind, &present.object, changes).await;
        errors.extend(result.err());
    }
    errors
}

fn node_state(node: &RolloutNode, assignment: &Assignment) -> Value {
    let mut spec = json!({});
    if let Some(configuration) = &assignment.configuration {
        spec["configuration"] = json!(configuration);
    }
    let kind = ApiResource::erase::<NodeState>(&());
    json!({
        "apiVersion": kind.api_version, "kind": kind.kind,
        "metadata": {
            "name": node.name,
            "labels": {names::MANAGED_BY: names::OPERATOR},
            // It goes with its Node.
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}],
        },
        "spec": spec,
    })
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
