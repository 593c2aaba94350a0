//! What the plan needs to remember from pass to pass: what nodes were told, and since when the canaries are well.

use std::collections::BTreeMap;
use std::time::Duration;

use pullwright_api::NodeRuntime;
use tokio::time::Instant;

use super::plan::{ObservedState, Proof, Revision, RolloutNode, RolloutPolicy};

/// The memory of one leader. Another one begins without it and loses nothing but time.
#[derive(Debug, Default)]
pub struct Pace {
    /// What nodes were told, with the generation of their object, until the watch shows it.
    told: BTreeMap<String, (Option<String>, i64)>,
    /// Since when the canaries of a runtime have what is wanted.
    well_since: BTreeMap<NodeRuntime, (Option<String>, Instant)>,
}

impl Pace {
    /// Remembers that a node was told something.
    pub fn tell(&mut self, node: &str, configuration: Option<String>, generation: i64) {
        self.told.insert(node.to_owned(), (configuration, generation));
    }

    /// Forgets what the watch shows by now: `seen` is the generation of each node's object in it.
    pub fn forget_seen(&mut self, seen: &BTreeMap<&str, i64>) {
        self.told
            .retain(|node, (_, generation)| seen.get(node.as_str()).is_none_or(|seen| seen < generation));
    }

    /// What a node was told, if the watch does not show it yet: it cannot have taken note of it either, as far as we know.
    pub fn overlay(&self, node: &str, state: Option<ObservedState>) -> Option<ObservedState> {
        match self.told.get(node) {
            Some((desired, _)) => {
                Some(ObservedState { desired: desired.clone(), noted: false, ..state.unwrap_or_default() })
            }
            None => state,
        }
    }

    /// How far what is wanted is tried by now, and how long it takes until more can be said.
    pub fn proof(
        &mut self,
        policy: &RolloutPolicy,
        soak: Duration,
        runtime: NodeRuntime,
        revision: &Revision,
        nodes: &[RolloutNode],
    ) -> (Proof, Option<Duration>) {
        if revision.proof == Proof::RolledOut {
            return (Proof::RolledOut, None);
        }
        let well =
            nodes.iter().filter(|node| node.runtime == runtime && node.has(revision.wanted.as_deref()));
        if well.count() < policy.canaries.max(1) {
            self.well_since.remove(&runtime);
            return (Proof::New, None);
        }
        let begun = || (revision.wanted.clone(), Instant::now());
        let since = self.well_since.entry(runtime).or_insert_with(begun);
        if since.0 != revision.wanted {
            *since = begun();
        }
        match soak.checked_sub(since.1.elapsed()) {
            Some(rest) if !rest.is_zero() => (Proof::New, Some(rest)),
            _ => (Proof::CanariesDid, None),
        }
    }
}
