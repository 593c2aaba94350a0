//! For tests only: the real components with which a cluster pulls images, started from scratch on one machine.
//!
//! There are two sizes. A [`ControlPlane`] is etcd and kube-apiserver on free ports of the loopback: it starts in seconds
//! and needs no privileges. A [`node::Node`] is everything (control plane, registries, a container runtime, the kubelet) in
//! its own namespaces: it needs root. Everything that is started here ends with the process that started it, even if that
//! process is killed.
#![expect(
    clippy::missing_errors_doc,
    reason = "every failure here is the same to a caller: the test cannot go on, and the error says why"
)]

pub mod cable;
pub mod certificates;
mod client;
pub mod containerd;
pub mod control_plane;
mod error;
pub mod image;
pub mod kubectl;
mod network;
pub mod node;
pub mod openshift;
pub mod process;
pub mod programs;
pub mod registry;
pub mod scenario;
pub mod standin;

pub use cable::Cable;
pub use control_plane::ControlPlane;
pub use error::Error;
