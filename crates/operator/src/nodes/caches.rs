//! The caches that the decision about the nodes is made from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DeserializeGuard;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use pullwright_api::openshift::{
    BUILT_IN_POOL, ClusterVersion, Infrastructure, MachineConfig, MachineConfigPool, singleton,
};
use pullwright_api::{
    Image, ImageContentSourcePolicy, ImageDigestMirrorSet, ImageTagMirrorSet, MirrorSetStatus,
    NodeConfiguration, NodeState, SINGLETON, names, v1, v1alpha1,
};
use pullwright_engine::mirrors::{MirrorSet, RegistrySources};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Notify;

use super::discover::{ClusterKinds, DeliveryMode};
use super::facts::{NodeFacts, NodeStateFacts};
use super::objects;
use super::observed::{
    Observed, ObservedDelivery, OwnConfiguration, PoolFacts, ProviderVersion, RenderedConfig, UserKind,
    UserObject,
};
use crate::cache::{Cache, CacheState, Trim};
use crate::metrics::Metrics;
use crate::provider_config::Platform;
use crate::write::OwnObject;

/// What errors and metrics call the kind.
const PROVIDER_CONFIG: &str = "CRIOCredentialProviderConfig";
/// How many Nodes are listed with one request.
const NODES_AT_A_TIME: u32 = 100;

/// The caches.
pub(crate) struct Caches {
    digest_sets: Cache<UserObject<MirrorSet>>,
    tag_sets: Cache<UserObject<MirrorSet>>,
    policies: Cache<UserObject<MirrorSet>>,
    images: Cache<UserObject<RegistrySources>>,
    providers: Cache<UserObject<Vec<String>>>,
    provider_version: ProviderVersion,
    nodes: Cache<NodeFacts>,
    delivery: DeliveryCaches,
}

enum DeliveryCaches {
    NodeAgent {
        own: Cache<OwnConfiguration>,
        states: Cache<NodeStateFacts>,
    },
    MachineConfig {
        own: Cache<OwnObject>,
        pools: Cache<PoolFacts>,
        infrastructure: Cache<String>,
        version: Cache<String>,
    },
}

/// Starts caches that tell one controller of changes.
struct Starter<'a> {
    client: &'a Client,
    changed: &'a Arc<Notify>,
    metrics: &'a Metrics,
}

impl Starter<'_> {
    fn start<K, T>(&self, kind: &'static str, config: watcher::Config, trim: Trim<K, T>) -> Cache<T>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static,
        T: PartialEq + Send + Sync + 'static,
    {
        let api: Api<DeserializeGuard<K>> = Api::all(self.client.clone());
        Cache::start(kind, api, config, trim, Arc::clone(self.changed), self.metrics.clone())
    }
}

impl Caches {
    pub(crate) fn start(
        client: &Client,
        kinds: ClusterKinds,
        changed: &Arc<Notify>,
        metrics: &Metrics,
    ) -> Self {
        let starter = Starter { client, changed, metrics };
        let all = watcher::Config::default;
        let only = |name: &str| all().fields(&format!("metadata.name={name}"));
        let own = || all().labels(&format!("{}={}", names::MANAGED_BY, names::OPERATOR));
        let delivery = match kinds.delivery {
            DeliveryMode::NodeAgent => DeliveryCaches::NodeAgent {
                own: starter.start("NodeConfiguration", own(), |object: NodeConfiguration| {
                    let annotations = object.metadata.annotations.as_ref();
                    let rolled_out = annotations.and_then(|all| all.get(names::ROLLED_OUT)?.parse().ok());
                    let content = objects::node_configuration_content;
                    OwnConfiguration { object: own_object(&object, &object.metadata, content), rolled_out }
                }),
                states: starter.start("NodeState", all(), |state: NodeState| state.into()),
            },
            DeliveryMode::MachineConfig => DeliveryCaches::MachineConfig {
                own: starter.start("MachineConfig", own(), |object: MachineConfig| {
                    own_object(&object, &object.metadata, objects::machine_config_content)
                }),
                pools: starter.start(
                    "MachineConfigPool",
                    all().labels(BUILT_IN_POOL),
                    |pool: MachineConfigPool| pool.into(),
                ),
                infrastructure: starter.start(
                    "Infrastructure",
                    only(singleton::INFRASTRUCTURE),
                    |object: Infrastructure| object.status.unwrap_or_default().platform_status.type_,
                ),
                version: starter.start(
                    "ClusterVersion",
                    only(singleton::CLUSTER_VERSION),
                    |object: ClusterVersion| object.status.unwrap_or_default().desired.image,
                ),
            },
        };
        Self {
            digest_sets: starter.start("ImageDigestMirrorSet", all(), |object: ImageDigestMirrorSet| {
                let (metadata, status) = (object.metadata.clone(), object.status.clone());
                mirror_set(UserKind::ImageDigestMirrorSet, metadata, status, object)
            }),
            tag_sets: starter.start("ImageTagMirrorSet", all(), |object: ImageTagMirrorSet| {
                let (metadata, status) = (object.metadata.clone(), object.status.clone());
                mirror_set(UserKind::ImageTagMirrorSet, metadata, status, object)
            }),
            policies: starter.start("ImageContentSourcePolicy", all(), |object: ImageContentSourcePolicy| {
                let (metadata, status) = (object.metadata.clone(), object.status.clone());
                mirror_set(UserKind::ImageContentSourcePolicy, metadata, status, object)
            }),
            images: starter.start("Image", only(SINGLETON), |object: Image| {
                UserObject::new(UserKind::Image, object.metadata.clone(), Vec::new(), object.into())
            }),
            providers: match kinds.provider {
                ProviderVersion::V1 => starter.start(
                    PROVIDER_CONFIG,
                    only(SINGLETON),
                    |object: v1::CRIOCredentialProviderConfig| {
                        provider(ProviderVersion::V1, object.metadata, object.spec, object.status)
                    },
                ),
                ProviderVersion::V1alpha1 => starter.start(
                    PROVIDER_CONFIG,
                    only(SINGLETON),
                    |object: v1alpha1::CRIOCredentialProviderConfig| {
                        provider(ProviderVersion::V1alpha1, object.metadata, object.spec.0, object.status)
                    },
                ),
            },
            provider_version: kinds.provider,
            // A Node is large before it is trimmed.
            nodes: starter.start("Node", all().page_size(NODES_AT_A_TIME), |node: Node| node.into()),
            delivery,
        }
    }

    /// The kinds that must still be read before anything can be decided. A decision without them would take their part off the nodes.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let mut states = vec![
            (self.digest_sets.kind(), self.digest_sets.state()),
            (self.tag_sets.kind(), self.tag_sets.state()),
            (self.policies.kind(), self.policies.state()),
            (self.images.kind(), self.images.state()),
            (self.providers.kind(), self.providers.state()),
            (self.nodes.kind(), self.nodes.state()),
        ];
        match &self.delivery {
            DeliveryCaches::NodeAgent { own, states: nodes } => {
                states.extend([(own.kind(), own.state()), (nodes.kind(), nodes.state())]);
            }
            DeliveryCaches::MachineConfig { own, pools, infrastructure, version } => states.extend([
                (own.kind(), own.state()),
                (pools.kind(), pools.state()),
                (infrastructure.kind(), infrastructure.state()),
                (version.kind(), version.state()),
            ]),
        }
        let missing = |state| matches!(state, CacheState::Cold | CacheState::Forbidden);
        states.into_iter().filter(|(_, state)| missing(*state)).map(|(kind, _)| kind).collect()
    }

    /// The rendered configurations that the pools want, which are read one by one since they are large and never change.
    pub(crate) fn rendered_names(&self) -> BTreeSet<String> {
        match &self.delivery {
            DeliveryCaches::NodeAgent { .. } => BTreeSet::new(),
            DeliveryCaches::MachineConfig { pools, .. } => {
                let targets = pools.snapshot().into_iter().map(|pool| pool.target.clone());
                targets.filter(|target| !target.is_empty()).collect()
            }
        }
    }

    pub(crate) fn observe(
        &self,
        rendered: &BTreeMap<String, Arc<RenderedConfig>>,
        without_conditions: &BTreeSet<UserKind>,
    ) -> Observed {
        let mut mirror_sets = self.digest_sets.snapshot();
        mirror_sets.extend(self.tag_sets.snapshot());
        mirror_sets.extend(self.policies.snapshot());
        let mut unparsable = Vec::new();
        unparsable.extend(unreadable(UserKind::ImageDigestMirrorSet, &self.digest_sets));
        unparsable.extend(unreadable(UserKind::ImageTagMirrorSet, &self.tag_sets));
        unparsable.extend(unreadable(UserKind::ImageContentSourcePolicy, &self.policies));
        unparsable.extend(unreadable(UserKind::Image, &self.images));
        unparsable.extend(unreadable(UserKind::ProviderConfig(self.provider_version), &self.providers));
        Observed {
            mirror_sets,
            image: self.images.snapshot().into_iter().next(),
            provider: self.providers.snapshot().into_iter().next(),
            unparsable,
            without_conditions: without_conditions.clone(),
            nodes: self.nodes.snapshot(),
            delivery: match &self.delivery {
                DeliveryCaches::NodeAgent { own, states } => {
                    ObservedDelivery::NodeAgent { own: own.snapshot(), states: states.snapshot() }
                }
                DeliveryCaches::MachineConfig { own, pools, infrastructure, version } => {
                    let platform = infrastructure.snapshot().into_iter().next();
                    ObservedDelivery::MachineConfig {
                        own: own.snapshot().iter().map(|own| OwnObject::clone(own)).collect(),
                        pools: pools.snapshot(),
                        rendered: rendered.clone(),
                        platform: Platform::from_openshift(platform.as_deref().map_or("", String::as_str)),
                        release_image: version.snapshot().first().map(|image| String::clone(image)),
                    }
                }
            },
        }
    }
}

fn mirror_set(
    kind: UserKind,
    metadata: ObjectMeta,
    status: Option<MirrorSetStatus>,
    object: impl Into<MirrorSet>,
) -> UserObject<MirrorSet> {
    UserObject::new(kind, metadata, status.unwrap_or_default().conditions, object.into())
}

fn provider(
    version: ProviderVersion,
    metadata: ObjectMeta,
    spec: v1::CRIOCredentialProviderConfigSpec,
    status: Option<v1::CRIOCredentialProviderConfigStatus>,
) -> UserObject<Vec<String>> {
    let images = spec.match_images.unwrap_or_default().into_iter().map(|image| image.0).collect();
    let conditions = status.unwrap_or_default().conditions;
    UserObject::new(UserKind::ProviderConfig(version), metadata, conditions, images)
}

fn unreadable<T: PartialEq + Send + Sync + 'static>(
    kind: UserKind,
    cache: &Cache<T>,
) -> Vec<(UserKind, String, String)> {
    cache.with(|kept| {
        let unparsable = kept.unparsable().iter();
        unparsable.map(|(key, why)| (kind, key.name.clone(), why.clone())).collect()
    })
}

fn own_object(object: &impl Serialize, metadata: &ObjectMeta, content: fn(&Value) -> Value) -> OwnObject {
    let value = serde_json::to_value(object).unwrap_or_default();
    OwnObject::new(metadata, &content(&value))
}
