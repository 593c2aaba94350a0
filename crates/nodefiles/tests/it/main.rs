//! Reading a node's files, in a folder that stands for the node.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod certs_d;
mod crio;
mod locations;
mod root;
