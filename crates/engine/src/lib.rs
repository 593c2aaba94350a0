//! The decisions of Pullwright, as pure functions: for an image, where it is pulled from, with whose
//! credentials, and why.
//!
//! The crate does no I/O, has no clock and no async; its inputs are texts and values that a shell has read,
//! its outputs are values that a shell carries out. A test reads the dependency tree to keep it so.
//!
//! ```text
//! reference ──► registries (where) ──┐
//!               credentials (whose) ─┼──► plan (the answer, with its reasons)
//!               kubelet (when) ──────┘
//! ```

pub mod containerd;
pub mod credentials;
pub mod crio;
pub mod kubelet;
pub mod mirrors;
pub mod plan;
pub mod reference;
pub mod registries;
mod toml_text;
