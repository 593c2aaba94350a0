//! The pass of the controller: observe, decide, write the delivery objects, then say what became of everything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use k8s_openapi::jiff::Timestamp;
use kube::api::ApiResource;
use kube::{Api, Client};
use pullwright_api::NodeConfiguration;
use pullwright_api::openshift::MachineConfig;
use pullwright_daemon::message;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::caches::Caches;
use super::decide::{Decision, decide};
use super::discover::{self, ClusterKinds, DeliveryMode, READS_WITHIN};
use super::observed::{Observed, RenderedConfig, UserKind};
use super::pacing::{Pacing, RolloutSettings};
use super::settings::NodeSettings;
use super::statuses::{ForeignConditions, Statuses, statuses};
use crate::category::Category;
use crate::controller::{Controller, Pass};
use crate::metrics::Metrics;
use crate::write::{ObjectWrite, Said, WriteError, Writer};

/// How many statuses are written at a time.
const AT_A_TIME: usize = 8;
/// How often a status is written of which only the number of nodes is new.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);
/// For how long it is remembered what the definitions of the kinds have.
const DEFINITIONS_HOLD: Duration = Duration::from_mins(10);

/// The controller of the nodes.
pub struct NodesController {
    client: Client,
    kinds: ClusterKinds,
    settings: NodeSettings,
    caches: Arc<Caches>,
    writer: Writer,
    metrics: Metrics,
    pacing: Pacing,
    rendered: BTreeMap<String, Arc<RenderedConfig>>,
    without_conditions: Option<(Instant, BTreeSet<UserKind>)>,
    said: Said,
    foreign: ForeignConditions,
    progress: Option<Instant>,
}

impl NodesController {
    /// Starts the controller's caches. It tells `changed` when there is something to do.
    #[must_use]
    pub fn new(
        client: Client,
        kinds: ClusterKinds,
        settings: NodeSettings,
        rollout: RolloutSettings,
        writer: Writer,
        metrics: Metrics,
        changed: &Arc<Notify>,
    ) -> Self {
        let caches = Arc::new(Caches::start(&client, kinds, changed, &metrics));
        Self {
            client,
            kinds,
            settings,
            caches,
            writer,
            metrics,
            pacing: Pacing::new(rollout),
            rendered: BTreeMap::new(),
            without_conditions: None,
            said: Said::default(),
            foreign: ForeignConditions::new(),
            progress: None,
        }
    }

    /// Tells which kinds still have to be read before this replica could lead.
    pub fn missing(&self) -> impl Fn() -> Vec<&'static str> + Send + Sync + use<> {
        let caches = Arc::clone(&self.caches);
        move || caches.missing()
    }

    fn delivery_kind(&self) -> ApiResource {
        match self.kinds.delivery {
            DeliveryMode::NodeAgent => ApiResource::erase::<NodeConfiguration>(&()),
            DeliveryMode::MachineConfig => ApiResource::erase::<MachineConfig>(&()),
        }
    }

    /// Reads the rendered configurations that were not read yet.
    async fn read_rendered(&mut self) -> bool {
        let names = self.caches.rendered_names();
        self.rendered.retain(|name, _| names.contains(name));
        let api: Api<MachineConfig> = Api::all(self.client.clone());
        let mut complete = true;
        for name in names {
            if self.rendered.contains_key(&name) {
                continue;
            }
            let Ok(answer) = timeout(READS_WITHIN, api.get_opt(&name)).await else {
                self.failed(
                    Category::ApiUnavailable,
                    &format!("reading MachineConfig {name}: no answer in time"),
                );
                complete = false;
                continue;
            };
            match answer {
                Ok(Some(config)) => {
                    self.rendered.insert(name, Arc::new(RenderedConfig::from(&config)));
                }
                // It was named a moment ago and will be there, or another one will be named.
                Ok(None) => complete = false,
                Err(error) => {
                    self.failed(
                        Category::of(&error),
                        &format!("reading MachineConfig {name}: {}", message(&error)),
                    );
                    complete = false;
                }
            }
        }
        complete
    }

    async fn without_conditions(&mut self) -> BTreeSet<UserKind> {
        if let Some((read, kinds)) = &self.without_conditions
            && read.elapsed() < DEFINITIONS_HOLD
        {
            return kinds.clone();
        }
        let kinds = discover::without_conditions(&self.client).await;
        self.without_conditions = Some((Instant::now(), kinds.clone()));
        kinds
    }

    /// Carries out the writes of delivery objects. Returns the failures, by object.
    async fn deliver(&self, decision: &Decision) -> BTreeMap<String, (Category, String)> {
        let kind = self.delivery_kind();
        let mut failures = BTreeMap::new();
        for write in &decision.writes {
            // What was there stays as long as what replaces it cannot be written: a node that joins now still gets something.
            if matches!(write, ObjectWrite::Delete(_)) && !failures.is_empty() {
                break;
            }
            let Err(error) = self.writer.carry_out(&kind, write).await else { continue };
            if let Some(category) = error.category() {
                self.failed(category, &error.to_string());
                failures.insert(write.key().name.clone(), (category, error.to_string()));
            }
        }
        failures
    }

    /// Tells nodes what they may take now. Returns whether all could be told, and when to look again.
    async fn roll_out(
        &mut self,
        observed: &Observed,
        decision: &Decision,
        failures: &BTreeMap<String, (Category, String)>,
    ) -> (bool, Option<Duration>) {
        match self.pacing.turn(&self.client, &self.writer, observed, decision, failures).await {
            Ok(turn) => {
                let mut complete = true;
                for error in &turn.errors {
                    complete &= self.report(error);
                }
                (complete, turn.again)
            }
            Err((category, why)) => {
                self.failed(category, &why);
                (false, None)
            }
        }
    }

    /// Says what is new. Returns whether everything was said, and when to say what can wait.
    async fn say(&mut self, statuses: Statuses) -> (bool, Option<Duration>) {
        let mut again = None;
        let since = self.progress.map(|at| at.elapsed());
        let mut changes = statuses.conditions;
        if let Some(wait) = since.and_then(|since| PROGRESS_INTERVAL.checked_sub(since)) {
            let before = changes.len();
            changes.retain(|change| !change.only_progress);
            again = (changes.len() < before).then_some(wait);
        }
        if changes.iter().any(|change| matches!(change.kind, UserKind::ProviderConfig(_))) {
            self.progress = Some(Instant::now());
        }
        let writer = &self.writer;
        let results: Vec<_> = stream::iter(changes)
            .map(|change| async move {
                let result = writer.conditions(&change.write).await;
                (change, result)
            })
            .buffer_unordered(AT_A_TIME)
            .collect()
            .await;
        let mut complete = true;
        for (change, result) in results {
            let Err(error) = result else { continue };
            complete &= self.report(&error);
            for type_ in error.conditions_of_others() {
                let generation = change.write.conditions.iter().find_map(|one| one.observed_generation);
                let key = (change.write.uid.clone(), generation.unwrap_or_default(), type_.to_owned());
                self.foreign.retain(|(uid, generation, _)| *uid != key.0 || *generation == key.1);
                // The others are set the next time, without this one.
                complete &= !self.foreign.insert(key);
            }
        }
        for error in self.said.say(&self.writer, statuses.events).await {
            complete &= self.report(&error);
        }
        (complete, again)
    }

    /// Reports a failure. Returns whether there is no use in trying again soon.
    fn report(&self, error: &WriteError) -> bool {
        let Some(category) = error.category() else { return true };
        self.failed(category, &error.to_string());
        // Whoever owns the conditions will not give them up because we ask again; the object's next change is soon enough.
        category == Category::ForeignObject
    }

    fn failed(&self, category: Category, what: &str) {
        self.metrics.error(Self::NAME, category);
        tracing::error!(controller = Self::NAME, reason = %category, "{what}");
    }

    fn count(&self, decision: &Decision) {
        self.metrics.forget_nodes();
        for target in &decision.targets {
            let nodes = target.nodes;
            let waiting = nodes.total.saturating_sub(nodes.updated + nodes.failed);
            self.metrics.nodes(&target.name, "updated", nodes.updated);
            self.metrics.nodes(&target.name, "failed", nodes.failed);
            self.metrics.nodes(&target.name, "waiting", waiting);
        }
    }
}

impl Controller for NodesController {
    const NAME: &'static str = "nodes";

    fn begin(&mut self) {
        self.pacing.begin();
    }

    async fn pass(&mut self) -> Pass {
        let missing = self.caches.missing();
        if !missing.is_empty() {
            tracing::warn!(
                controller = Self::NAME,
                "waiting for objects of these kinds: {}",
                missing.join(", ")
            );
            return Pass { failed: true, again: None };
        }
        let complete = self.read_rendered().await;
        let without_conditions = self.without_conditions().await;
        let observed = self.caches.observe(&self.rendered, &without_conditions);
        let decision = decide(&observed, &self.settings);
        if let Some((category, why)) = &decision.held {
            self.failed(*category, &format!("nothing is delivered: {why}"));
        }
        let failures = self.deliver(&decision).await;
        for target in &decision.targets {
            // What holds everything is said once, above.
            if let Some((category, why)) = target.refused.as_ref().filter(|_| decision.held.is_none()) {
                self.metrics.error(Self::NAME, *category);
                tracing::error!(controller = Self::NAME, reason = %category, runtime = target.name, "{why}");
            }
        }
        self.count(&decision);
        let (paced, look_again) = self.roll_out(&observed, &decision, &failures).await;
        let (said, say_again) =
            self.say(statuses(&observed, &decision, &failures, &self.foreign, Timestamp::now())).await;
        let again = look_again.into_iter().chain(say_again).min();
        Pass { failed: !(complete && failures.is_empty() && paced && said), again }
    }
}
