//! One node in the agent's hands: brings it what it should have, and says what became of that.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use pullwright_api::{NodeRuntime, NodeState};
use pullwright_nodefiles::NodeRoot;
use thiserror::Error;

use crate::cluster::{Cluster, ClusterError};
use crate::facts::KubeletVersion;
use crate::machine::NodeMachine;
use crate::metrics::Metrics;
use crate::node::{FactsError, read_kubelet, read_node};
use crate::plan::{PlanError, plan};
use crate::plugin::Plugin;
use crate::programs::Programs;
use crate::report::{Progress, Report, has_given_up};
use crate::transaction::{Error as FilesError, HostRoot, STATE, Transactions, WantedFile};
use crate::update::{self, Brought, UpdateError};

/// How long another agent on the node may take to end.
const OTHER_AGENT_ENDS_WITHIN: Duration = Duration::from_mins(1);
/// How often to look whether the files are still as they should be.
const LOOK_AGAIN: Duration = Duration::from_mins(5);
/// How long to wait after a first failure; the wait doubles, up to [`LOOK_AGAIN`].
const FIRST_RETRY: Duration = Duration::from_secs(5);

/// Why a node could not be brought what it should have, and may be later.
#[derive(Debug, Error)]
pub(crate) enum AgentError {
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error("the NodeState is of an earlier node that was called {0} too: the operator makes a new one")]
    EarlierNode(String),
    #[error("the kubelet has not reported a runtime that can be configured ({0:?})")]
    Runtime(String),
    #[error("the kubelet reported the version {0:?}, which is none")]
    Version(String),
    #[error("reading the program {path:?}: {source}")]
    Program { path: PathBuf, source: std::io::Error },
    #[error("the agent runs without a cluster")]
    Alone,
    #[error("restored files did not work, and the node has what it had before: {0}")]
    NotRestored(String),
    #[error("some files stay as they are, and all others are restored: {0}")]
    Kept(String),
    #[error(transparent)]
    Facts(#[from] FactsError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Update(#[from] UpdateError),
}

impl From<FilesError> for AgentError {
    fn from(error: FilesError) -> Self {
        Self::Update(error.into())
    }
}

/// A node.
pub(crate) struct Agent {
    name: String,
    /// The way to the cluster; none if the node is only restored.
    cluster: Option<Cluster>,
    host: PathBuf,
    programs: PathBuf,
    machine: NodeMachine,
    metrics: Metrics,
    plugin: Plugin,
    memory: Memory,
}

/// What is remembered from one look to the next.
#[derive(Default)]
struct Memory {
    /// `None` as long as the node has nothing of ours.
    transactions: Option<Transactions>,
    /// The configuration that did not work, if an agent before this one could not say so.
    recovered: Option<(Option<String>, String)>,
    /// What was found last. It has to be said until the API server has it.
    found: Option<Report>,
    /// How long to wait after the next failure.
    retry: Option<Duration>,
}

impl Agent {
    pub(crate) fn new(
        name: String,
        cluster: Option<Cluster>,
        host: &Path,
        programs: &Path,
        machine: NodeMachine,
        metrics: Metrics,
    ) -> Self {
        let plugin = Plugin::new(host);
        let (host, programs) = (host.to_owned(), programs.to_owned());
        Self { name, cluster, host, programs, machine, metrics, plugin, memory: Memory::default() }
    }

    /// Goes on where an earlier agent was ended. Needs nobody but the node.
    pub(crate) async fn recover(&mut self) -> Result<(), AgentError> {
        if !self.has_state()? {
            return Ok(());
        }
        let machine = self.machine.clone();
        if let Some(failed) = update::recover(self.transactions()?, &machine).await? {
            self.memory.recovered = Some(failed);
        }
        Ok(())
    }

    /// Ends what an earlier failure left, and says why if this is what failed then: trying it again would only break the node again.
    async fn has_failed(&mut self, wanted: Option<&str>) -> Result<Option<String>, AgentError> {
        self.recover().await?;
        let failed = self.memory.recovered.take().filter(|(failed, _)| failed.as_deref() == wanted);
        Ok(failed.map(|(_, why)| why))
    }

    /// Whether an agent has been at work on this node.
    fn has_state(&self) -> Result<bool, AgentError> {
        let there = NodeRoot::at(&self.host).and_then(|root| root.exists(Path::new(STATE)));
        there.map_err(|source| FactsError::Read { path: STATE.into(), source }.into())
    }

    fn transactions(&mut self) -> Result<&mut Transactions, AgentError> {
        let open = match self.memory.transactions.take() {
            Some(open) => open,
            None => Transactions::open(HostRoot::open(&self.host)?, OTHER_AGENT_ENDS_WITHIN)?,
        };
        Ok(self.memory.transactions.insert(open))
    }

    /// What the node has.
    fn configuration(&self) -> Option<String> {
        let transactions = self.memory.transactions.as_ref()?;
        transactions.configuration().map(str::to_owned)
    }

    /// Looks at what the node should have, brings it there, and says so. Returns when to look again.
    pub(crate) async fn look(&mut self, state: &NodeState) -> Duration {
        let generation = state.metadata.generation.unwrap_or_default();
        if let Some(found) = self.memory.found.take_if(|found| found.generation != generation) {
            tracing::debug!(?found, "the node is told something else");
            self.memory.retry = None;
        }
        let tried =
            self.memory.found.as_ref().is_some_and(|found| matches!(found.progress, Progress::RolledBack(_)));
        if !tried && !has_given_up(state) {
            let progress = self.progress(state, generation).await;
            self.metrics.looked(&progress);
            self.memory.found = Some(self.report(generation, progress));
        }
        let said = match self.memory.found.clone() {
            Some(found) => self.say(state, &found).await,
            None => true,
        };
        let well = matches!(
            &self.memory.found,
            None | Some(Report { progress: Progress::Applied | Progress::RolledBack(_), .. })
        );
        if said && well {
            self.memory.retry = None;
            return LOOK_AGAIN;
        }
        let wait = self.memory.retry.unwrap_or(FIRST_RETRY);
        self.memory.retry = Some((wait * 2).min(LOOK_AGAIN));
        wait
    }

    fn report(&self, generation: i64, progress: Progress) -> Report {
        Report { generation, configuration: self.configuration(), progress, plugin: self.plugin.trouble() }
    }

    /// Counts how the plugin's runs ended, and says so if it begins or ceases to fail.
    pub(crate) async fn count(&mut self, state: Option<&NodeState>) {
        if let Err(error) = self.plugin.look() {
            tracing::warn!("counting the plugin's runs: {error}");
        }
        self.metrics.plugin(self.plugin.counted());
        let trouble = self.plugin.trouble();
        if let (Some(state), Some(found)) = (state, &mut self.memory.found)
            && found.plugin != trouble
        {
            found.plugin = trouble;
            let found = found.clone();
            self.say(state, &found).await;
        }
    }

    async fn progress(&mut self, state: &NodeState, generation: i64) -> Progress {
        let wanted = state.spec.configuration.as_deref();
        if wanted != self.configuration().as_deref() {
            // Before anything is changed: the operator counts the node as on its way from here on.
            self.say(state, &self.report(generation, Progress::Progressing)).await;
        }
        let brought = match wanted {
            Some(name) => self.bring(name, state.node_uid()).await,
            None => self.restore().await,
        };
        match brought {
            Ok(Brought::Unchanged) => Progress::Applied,
            Ok(Brought::Applied) => {
                tracing::info!(configuration = wanted, "the node has what it should have");
                Progress::Applied
            }
            Ok(Brought::RolledBack { why }) => Progress::RolledBack(why),
            Err(AgentError::Update(error @ UpdateError::NotUndone { .. })) => {
                tracing::error!("{error}");
                Progress::NotUndone(error.to_string())
            }
            Err(error) => {
                tracing::error!("{error}");
                Progress::Failed(error.to_string())
            }
        }
    }

    async fn bring(&mut self, name: &str, owner: Option<&str>) -> Result<Brought, AgentError> {
        if let Some(why) = self.has_failed(Some(name)).await? {
            return Ok(Brought::RolledBack { why });
        }
        let files = self.files(name, owner).await?;
        let machine = self.machine.clone();
        Ok(update::bring(self.transactions()?, name, &files, &machine).await?)
    }

    async fn restore(&mut self) -> Result<Brought, AgentError> {
        if !self.has_state()? {
            return Ok(Brought::Unchanged);
        }
        if let Some(why) = self.has_failed(None).await? {
            return Ok(Brought::RolledBack { why });
        }
        let machine = self.machine.clone();
        let (brought, kept) = update::restore(self.transactions()?, &machine).await?;
        if !kept.is_empty() {
            let reasons: Vec<_> = kept.into_iter().map(|file| file.reason).collect();
            return Err(AgentError::Kept(reasons.join("; ")));
        }
        if matches!(brought, Brought::Applied | Brought::Unchanged)
            && let Some(transactions) = self.memory.transactions.take()
        {
            transactions.remove_state()?;
        }
        Ok(brought)
    }

    /// Restores the node without being told to by the cluster.
    pub(crate) async fn restore_now(&mut self) -> Result<(), AgentError> {
        match self.restore().await? {
            Brought::RolledBack { why } => Err(AgentError::NotRestored(why)),
            Brought::Unchanged | Brought::Applied => Ok(()),
        }
    }

    /// The files that the node needs for a configuration.
    async fn files(&self, name: &str, owner: Option<&str>) -> Result<Vec<WantedFile>, AgentError> {
        let cluster = self.cluster.as_ref().ok_or(AgentError::Alone)?;
        let (spec, node) = (cluster.configuration(name).await?, cluster.node().await?);
        // The operator takes the object of an earlier node away. Until then it tells this one nothing.
        if owner.is_some() && owner != node.metadata.uid.as_deref() {
            return Err(AgentError::EarlierNode(self.name.clone()));
        }
        let info = node.status.and_then(|status| status.node_info).unwrap_or_default();
        let runtime = NodeRuntime::reported(&info.container_runtime_version, &info.kubelet_version)
            .ok_or(AgentError::Runtime(info.container_runtime_version))?;
        let root = NodeRoot::at(&self.host)
            .map_err(|source| FactsError::Read { path: self.host.clone(), source })?;
        let mut facts = read_node(&root, runtime)?;
        let mut programs = Programs::default();
        if spec.credential_provider_config.is_some() {
            let version = KubeletVersion::parse(&info.kubelet_version)
                .ok_or(AgentError::Version(info.kubelet_version))?;
            facts.kubelet = Some(read_kubelet(&root, self.machine.systemd(), runtime, version).await?);
            programs = Programs::read(&self.programs, runtime)
                .map_err(|(path, source)| AgentError::Program { path, source })?;
        }
        Ok(plan(&spec, &facts, programs)?)
    }

    /// Says it, unless it is said already. Whether the API server has it.
    async fn say(&self, state: &NodeState, report: &Report) -> bool {
        let status = report.status(Timestamp::now(), state.status.as_ref());
        if state.status.as_ref() == Some(&status) {
            return true;
        }
        let Some(cluster) = &self.cluster else { return false };
        cluster.say(state, &status).await.inspect_err(|error| tracing::warn!("{error}")).is_ok()
    }
}

/// Whether a version of the node's object needs a look after another one: it tells something else, or somebody wrote its status.
pub(crate) fn needs_a_look(before: Option<&NodeState>, now: &NodeState) -> bool {
    before.is_none_or(|before| {
        before.metadata.uid != now.metadata.uid
            || before.metadata.generation != now.metadata.generation
            || before.status != now.status
    })
}
