//! The operator: it computes what every node should have from the objects of the API, and says on each object what became of it.
//!
//! Each controller has a folder with a pure decision and a thin shell that carries it out. All replicas keep caches of what they watch;
//! only the leader writes.
//!
//! ```text
//! watches ──► cache ──► nodes::decide ──► write::Writer ──► NodeConfiguration, or MachineConfig
//!                            │                 ▲
//!                            └─► nodes::statuses ──► conditions, Events
//! Lease ──► leader::Elector ──► Leadership ────┘ (may a write begin?)
//! ```

pub mod cache;
pub mod category;
pub mod controller;
pub mod leader;
pub mod metrics;
pub mod namespaces;
pub mod nodes;
pub mod options;
mod program;
pub mod provider_config;
pub mod rollout;
pub mod write;

pub use program::main;
