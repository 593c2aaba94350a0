//! Decisions about the nodes.
