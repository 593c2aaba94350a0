//! The decision: what the nodes should have, which objects carry it there, and how far it has come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pullwright_api::NodeRuntime;
use pullwright_api::openshift::machine_config_name;
use pullwright_engine::mirrors::{
    MergeInputs, Merged, MirrorSet, Payload, RegistrySources, merge, merge_protecting,
};
use pullwright_engine::registries::{ConfFile, RegistriesConf};
use pullwright_findings::Finding;
use pullwright_nodeconfig::{Layout, NodeFile, RUNTIMES, Runtime, any_usable, crio};
use serde_json::Value;

use super::facts::{NodeFacts, NodeStateFacts};
use super::objects;
use super::observed::{
    Observed, ObservedDelivery, OwnConfiguration, PoolFacts, RenderedConfig, last_rolled_out,
};
use super::settings::NodeSettings;
use crate::category::Category;
use crate::provider_config::{Platform, ProviderEntries, entries, provider_file};
use crate::rollout::Progress;
use crate::write::{ObjectWrite, OwnObject, WantedObject, writes};

/// The main file that OpenShift installs its nodes with; what it searches stays.
const OPENSHIFT_TEMPLATE: &str =
    "unqualified-search-registries = ['registry.access.redhat.com', 'docker.io']\n";

/// How many nodes that failed are named; `pullwright status` shows all.
const FAILED_SHOWN: usize = 10;

/// What is to be done, and what can be said about it.
#[derive(Debug)]
pub struct Decision {
    /// The mirrors, and the verdict on each object.
    pub merged: Merged,
    /// What becomes of the images of `CRIOCredentialProviderConfig`.
    pub entries: ProviderEntries,
    /// What the nodes should have: one for each runtime or pool.
    pub targets: Vec<Target>,
    /// The writes that bring it on its way.
    pub writes: Vec<ObjectWrite>,
    /// Why nothing is written now, although there may be something to write.
    pub held: Option<(Category, String)>,
}

/// Nodes that get the same files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The runtime or the pool.
    pub name: String,
    /// The object that carries the files; `None` if these nodes need none.
    pub object: Option<String>,
    /// Why there is no such object although they need one.
    pub refused: Option<(Category, String)>,
    /// What the runtime cannot do.
    pub unsupported: Vec<Finding>,
    /// How far it has come.
    pub nodes: NodeCount,
    /// Some of the nodes that could not take it, with the reason of each.
    pub failed: Vec<String>,
}

/// How many nodes have something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeCount {
    /// All that should have it.
    pub total: usize,
    /// Those that have it.
    pub updated: usize,
    /// Those that could not take it.
    pub failed: usize,
}

impl NodeCount {
    pub(crate) fn add(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            updated: self.updated + other.updated,
            failed: self.failed + other.failed,
        }
    }
}

/// Decides.
#[must_use]
pub fn decide(observed: &Observed, settings: &NodeSettings) -> Decision {
    let sets: Vec<MirrorSet> = observed.mirror_sets.iter().map(|set| set.value.clone()).collect();
    let sources = observed.image.as_ref().map_or_else(RegistrySources::default, |image| image.value.clone());
    let inputs = MergeInputs { sets: &sets, sources: &sources };
    let (merged, mut held) = match &observed.delivery {
        ObservedDelivery::NodeAgent { .. } => (merge(&inputs), None),
        ObservedDelivery::MachineConfig { release_image, .. } => match payload(release_image.as_deref()) {
            Ok(payload) => (merge_protecting(&inputs, &payload), None),
            Err(why) => (merge(&inputs), Some((Category::Unparsable, why))),
        },
    };
    // Replacing files that work by empty ones because nothing is valid any more would help nobody.
    let outcomes = merged.verdicts.iter().map(|verdict| verdict.outcome);
    if held.is_none() && !any_usable(outcomes) {
        let why = "no mirror set is valid, so the nodes keep what they have".to_owned();
        held = Some((Category::NothingValid, why));
    }
    let wants_files = !sets.is_empty() || sources != RegistrySources::default();
    let content = Content { merged: &merged, wants_files, images: images(observed), settings };
    let (entries, mut targets, mut writes) = match &observed.delivery {
        ObservedDelivery::NodeAgent { own, states } => content.for_agents(&observed.nodes, own, states),
        ObservedDelivery::MachineConfig { own, pools, rendered, platform, .. } => {
            content.for_pools(own, pools, rendered, *platform)
        }
    };
    if let Some(held) = &held {
        writes.clear();
        for target in &mut targets {
            target.refused.get_or_insert_with(|| held.clone());
        }
    }
    Decision { merged, entries, targets, writes, held }
}

fn images(observed: &Observed) -> &[String] {
    observed.provider.as_ref().map(|object| object.value.as_slice()).unwrap_or_default()
}

fn payload(release_image: Option<&str>) -> Result<Payload, String> {
    let image = release_image.ok_or("ClusterVersion/version names no release image")?;
    Payload::parse(image).map_err(|error| error.to_string())
}

/// What is to be brought to the nodes, before it is known which nodes there are.
struct Content<'a> {
    merged: &'a Merged,
    /// Whether any object is about registries at all.
    wants_files: bool,
    images: &'a [String],
    settings: &'a NodeSettings,
}

type Decided = (ProviderEntries, Vec<Target>, Vec<ObjectWrite>);

impl Content<'_> {
    fn for_agents(
        &self,
        nodes: &[Arc<NodeFacts>],
        own: &[Arc<OwnConfiguration>],
        states: &[Arc<NodeStateFacts>],
    ) -> Decided {
        let platforms: BTreeSet<_> = nodes.iter().map(|node| node.platform).collect();
        let clouds: Vec<Value> = platforms.into_iter().filter_map(Platform::providers).collect();
        let existing: Vec<&Value> = clouds.iter().chain(&self.settings.existing_providers).collect();
        let entries = entries(self.images, &existing);
        let states: BTreeMap<&str, &NodeStateFacts> =
            states.iter().map(|state| (state.name.as_str(), &**state)).collect();
        let (mut targets, mut wanted) = (Vec::new(), Vec::new());
        let mut kept: BTreeSet<&str> = BTreeSet::new();
        for state in states.values() {
            kept.extend(state.desired.as_deref().into_iter().chain(state.actual.as_deref()));
        }
        for runtime in NodeRuntime::ALL {
            let of_runtime = |node: &&Arc<NodeFacts>| node.runtime == Some(runtime);
            let mut nodes = nodes.iter().filter(of_runtime).peekable();
            if nodes.peek().is_none() {
                continue;
            }
            let provider = provider_file(None, &entries.applied, &self.settings.plugin(runtime));
            let (files, unsupported) = self.files_beside_the_nodes_own(runtime, provider.is_some());
            let object = objects::node_configuration(runtime, &files, provider.as_ref());
            let (object, refused) = match object {
                Ok(object) => (object, None),
                Err(refused) => {
                    // The last one that fitted stays.
                    let names = own.iter().map(|own| own.object.key.name.as_str());
                    kept.extend(names.filter(|name| runtime.has_configuration(name)));
                    (None, Some(refused))
                }
            };
            let name = object.as_ref().map(|object: &WantedObject| object.key.name.clone());
            // Nodes that join while another one is tried get it.
            kept.extend(last_rolled_out(own, runtime).filter(|_| name.is_some()));
            let (mut count, mut failed) = (NodeCount::default(), Vec::new());
            for node in nodes {
                let state = states.get(node.name.as_str()).copied().filter(|state| state.is_of(node));
                count = count.add(node_count(state, name.as_deref()));
                if let Some(reason) = failure(state, name.as_deref())
                    && failed.len() < FAILED_SHOWN
                {
                    failed.push(format!("{} ({reason})", node.name));
                }
            }
            wanted.extend(object);
            targets.push(Target {
                name: runtime.name().to_owned(),
                object: name,
                refused,
                unsupported,
                nodes: count,
                failed,
            });
        }
        // What a node has or should have stays until no node does.
        let wanted_names: BTreeSet<&str> = wanted.iter().map(|wanted| wanted.key.name.as_str()).collect();
        let own = own.iter().map(|own| &own.object).filter(|own| {
            let name = own.key.name.as_str();
            wanted_names.contains(name) || !kept.contains(name)
        });
        let own: Vec<OwnObject> = own.cloned().collect();
        (entries, targets, writes(wanted, own))
    }

    fn for_pools(
        &self,
        own: &[OwnObject],
        pools: &[Arc<PoolFacts>],
        rendered: &BTreeMap<String, Arc<RenderedConfig>>,
        platform: Platform,
    ) -> Decided {
        let existing = platform.providers();
        let also = self.settings.existing_providers.as_ref();
        let entries = entries(self.images, &existing.iter().chain(also).collect::<Vec<_>>());
        let template = ConfFile::parse(OPENSHIFT_TEMPLATE).ok();
        let template =
            template.map(|template| RegistriesConf::merge([(crio::REGISTRIES_CONF.into(), template)]));
        let (mut files, unsupported) = self.registry_files(&crio::RUNTIME, template.as_ref());
        let provider =
            provider_file(existing.as_ref(), &entries.applied, &self.settings.plugin(NodeRuntime::Crio));
        if let Some(provider) = provider {
            files.push(NodeFile::config(platform.openshift_path(), objects::yaml(&provider)));
            let flags = platform.openshift_flags();
            files.extend(flags.map(|(path, text)| NodeFile::config(path, text)));
        }
        let (mut targets, mut wanted, mut kept) = (Vec::new(), Vec::new(), BTreeSet::new());
        for pool in pools {
            let present = own.iter().find(|own| own.key.name == machine_config_name(&pool.name));
            let of_pool = rendered.get(&pool.target).map(|config| &**config);
            let beside =
                of_pool.map_or(0, |config| config.size.saturating_sub(present.map_or(0, |own| own.size)));
            let (object, refused) = match objects::machine_config(&pool.name, &files, beside) {
                Ok(object) => (object, None),
                Err(refused) => {
                    kept.extend(present.map(|own| own.key.clone()));
                    (None, Some(refused))
                }
            };
            let arrived = object.is_some() && of_pool.is_some_and(|config| has_files(config, &files));
            let nodes = NodeCount {
                total: pool.machines,
                updated: if arrived { pool.updated } else { 0 },
                failed: if arrived { pool.degraded } else { 0 },
            };
            targets.push(Target {
                name: pool.name.clone(),
                object: object.as_ref().map(|object: &WantedObject| object.key.name.clone()),
                refused,
                unsupported: unsupported.clone(),
                nodes,
                failed: Vec::new(),
            });
            wanted.extend(object);
        }
        let own: Vec<OwnObject> = own.iter().filter(|own| !kept.contains(&own.key)).cloned().collect();
        (entries, targets, writes(wanted, own))
    }

    /// The files for a node whose main configuration belongs to its distribution, and on which our plugin may run.
    fn files_beside_the_nodes_own(
        &self,
        runtime: NodeRuntime,
        with_plugin: bool,
    ) -> (Vec<NodeFile>, Vec<Finding>) {
        let Some(row) = Runtime::find(RUNTIMES, runtime.name()) else { return (Vec::new(), Vec::new()) };
        let (mut files, unsupported) = self.registry_files(row, None);
        // Whatever the runtime reads, our plugin and our image service look into registries.conf for the hosts that need a credential.
        if with_plugin && row.layout != Layout::RegistriesConf && self.wants_files {
            let conf = crio::RUNTIME.render_objects(self.merged, None, &[]);
            files.extend(conf.map(|conf| conf.files).unwrap_or_default());
        }
        (crio::beside_main_file(files), unsupported)
    }

    fn registry_files(
        &self,
        runtime: &Runtime,
        template: Option<&RegistriesConf>,
    ) -> (Vec<NodeFile>, Vec<Finding>) {
        if !self.wants_files {
            return (Vec::new(), Vec::new());
        }
        // It fails for nothing that the engine merges.
        let Ok(rendering) = runtime.render_objects(self.merged, template, &self.settings.hosts) else {
            return (Vec::new(), Vec::new());
        };
        let mut files = rendering.files;
        let policy = self.merged.policy.as_ref().ok().and_then(Option::as_ref);
        files.extend(policy.and_then(|policy| runtime.policy_file(policy)));
        (files, rendering.unsupported)
    }
}

fn node_count(state: Option<&NodeStateFacts>, wanted: Option<&str>) -> NodeCount {
    let updated = match state {
        Some(state) => state.desired.as_deref() == wanted && state.progress == Progress::Done,
        // It never had anything of ours.
        None => wanted.is_none(),
    };
    let failed = failure(state, wanted).is_some();
    NodeCount { total: 1, updated: usize::from(updated), failed: usize::from(failed) }
}

/// Why a node could not take what is wanted, if so.
fn failure<'a>(state: Option<&'a NodeStateFacts>, wanted: Option<&str>) -> Option<&'a str> {
    let state = state.filter(|state| state.desired.as_deref() == wanted)?;
    match &state.progress {
        Progress::Failed(reason) => Some(reason),
        Progress::InFlight | Progress::Done => None,
    }
}

/// Whether a rendered configuration brings exactly these files.
fn has_files(config: &RenderedConfig, files: &[NodeFile]) -> bool {
    files.iter().all(|file| {
        let path = file.path.to_string_lossy();
        config.files.get(&*path) == Some(&RenderedConfig::digest(file.content.as_bytes()))
    })
}
