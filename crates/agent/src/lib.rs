//! The node agent: brings a configuration onto one node, whole or not at all.
//!
//! So far it has one part, [`transaction`], which switches the node's files.

pub mod transaction;
