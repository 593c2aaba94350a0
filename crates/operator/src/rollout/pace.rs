//! What the plan needs to remember from pass to pass: what nodes were told, and since when the canaries are well.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use pullwright_api::NodeRuntime;
use tokio::time::Instant;

use super::plan::{ObservedState, Progress, Proof, Revision, RolloutNode, RolloutPolicy};

/// How long a watch may take to show what a node was told. After that, it is read from the API server what became of it.
pub const SHOWN_WITHIN: Duration = Duration::from_secs(30);

/// The memory of one leader. Another one begins without it and loses nothing but time.
#[derive(Debug, Default)]
pub struct Pace {
    /// What nodes were told, by the uid of the Node, until the watch shows it.
    told: BTreeMap<String, Told>,
    /// Since when the canaries of a runtime have what is wanted.
    well_since: BTreeMap<NodeRuntime, (Option<String>, Instant)>,
}

#[derive(Debug)]
struct Told {
    desired: Option<String>,
    /// The generation that the node's object has since, or would have if the API server took the write.
    generation: i64,
    at: Instant,
}

impl Pace {
    /// Remembers that a node was told something, or perhaps was.
    pub fn tell(&mut self, uid: &str, desired: Option<String>, generation: i64, now: Instant) {
        self.told.insert(uid.to_owned(), Told { desired, generation, at: now });
    }

    /// Forgets what the watch shows by now: `shown` has the generations of the objects in it, by the uid of the Node.
    pub(super) fn forget_shown(&mut self, shown: &HashMap<&str, i64>) {
        self.told.retain(|uid, told| {
            shown.get(uid.as_str()).is_none_or(|generation| *generation < told.generation)
        });
    }

    /// The uids of the Nodes that were told something that the watch does not show yet.
    pub(super) fn told_nodes(&self) -> impl Iterator<Item = &str> {
        self.told.keys().map(String::as_str)
    }

    /// Whether the watch does not show something although it had the time. Then somebody deleted the object, or the write never arrived.
    #[must_use]
    pub fn is_overdue(&self, now: Instant) -> bool {
        self.told.values().any(|told| now.saturating_duration_since(told.at) >= SHOWN_WITHIN)
    }

    /// Whether there is something that the watch does not show yet.
    #[must_use]
    pub fn waits(&self) -> bool {
        !self.told.is_empty()
    }

    /// Forgets what nodes were told, because it is read afresh.
    pub fn forget_told(&mut self) {
        self.told.clear();
    }

    /// What a node was told, if the watch does not show it yet: it cannot have taken note of it either, as far as we know.
    #[must_use]
    pub fn overlay(&self, uid: &str, state: Option<ObservedState>) -> Option<ObservedState> {
        match self.told.get(uid) {
            Some(told) => {
                let actual = state.and_then(|state| state.actual);
                Some(ObservedState { desired: told.desired.clone(), actual, progress: Progress::InFlight })
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
        now: Instant,
    ) -> (Proof, Option<Duration>) {
        if revision.proof == Proof::RolledOut {
            return (Proof::RolledOut, None);
        }
        let is_well = |node: &&RolloutNode| {
            node.runtime == runtime && node.ready && node.has(revision.wanted.as_deref())
        };
        if nodes.iter().filter(is_well).count() < policy.canaries.max(1) {
            self.well_since.remove(&runtime);
            return (Proof::New, None);
        }
        let since = self.well_since.entry(runtime).or_insert_with(|| (revision.wanted.clone(), now));
        if since.0 != revision.wanted {
            *since = (revision.wanted.clone(), now);
        }
        match soak.checked_sub(now.saturating_duration_since(since.1)) {
            Some(rest) if !rest.is_zero() => (Proof::New, Some(rest)),
            _ => (Proof::CanariesDid, None),
        }
    }
}
