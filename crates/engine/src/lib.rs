//! The decisions of Pullwright, as pure functions: for an image, where it is pulled from, with which credentials, and why.
//!
//! The crate has no I/O, no clock and no async. Its callers read the inputs, which are texts and values, and act on the
//! values that it returns. A test checks this in the dependency tree.
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
