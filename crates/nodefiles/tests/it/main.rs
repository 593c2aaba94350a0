//! Reading a node's files, in a folder that stands for the node.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crio;
mod locations;
mod root;
