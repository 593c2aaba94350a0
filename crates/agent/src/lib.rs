//! The node agent: brings a configuration onto one node, whole or not at all.
//!
//! ```text
//! NodeState ─► program ─► node (facts) ─► plan (files) ─► update ─┬─► transaction (files, journal)
//!     ▲           │                                               ├─► actions ─► services (systemd)
//!     └─ report ◄─┘                                               └─► proof: does the kubelet work?
//! ```

pub mod actions;
mod agent;
mod cluster;
pub mod facts;
pub mod kubelet;
mod layout;
mod machine;
mod metrics;
pub mod node;
pub mod options;
pub mod plan;
mod plugin;
pub mod program;
pub mod programs;
pub mod report;
pub mod services;
pub mod transaction;
pub mod update;
pub mod verify;
