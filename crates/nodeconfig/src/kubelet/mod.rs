//! The kubelet's part of a node: with which flags it runs, how it gets others, and where its credential providers are configured.
//!
//! Both settings of credential providers exist as flags only, so whoever brings a provider to a node has to change the kubelet's command
//! line, unless the node has providers already.

mod command;
mod placement;
mod providers;
mod unit;

pub use command::KubeletCommand;
pub use placement::{ConfigForm, PlacementError, ProviderPlacement, placement};
pub use providers::{ProvidersError, merge_providers};
pub use unit::{HEADER, ServiceUnit, UnitError, flags_drop_in, starts_after};
