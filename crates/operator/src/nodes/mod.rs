//! The controller of the nodes: from mirror sets, `Image/cluster` and `CRIOCredentialProviderConfig` to what every node should have.

mod caches;
mod decide;
mod discover;
mod facts;
mod objects;
mod observed;
mod pacing;
mod run;
mod settings;
mod statuses;
#[cfg(test)]
mod tests;

pub use decide::{Decision, NodeCount, Target, decide};
pub use discover::{ClusterKinds, DeliveryMode, cluster_kinds};
pub use facts::{NodeFacts, NodeStateFacts};
pub use observed::{
    Observed, ObservedDelivery, OwnConfiguration, PoolFacts, ProviderVersion, RenderedConfig, UserKind,
    UserObject,
};
pub use pacing::RolloutSettings;
pub use run::NodesController;
pub use settings::NodeSettings;
pub use statuses::{ConditionsChange, ForeignConditions, Statuses, statuses};
