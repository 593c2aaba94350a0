//! The node agent: brings a configuration onto one node, whole or not at all.
//!
//! [`transaction`] switches the node's files, [`kubelet`] asks the kubelet how it is, and [`verify`] judges what was seen of it.

pub mod kubelet;
pub mod transaction;
pub mod verify;
