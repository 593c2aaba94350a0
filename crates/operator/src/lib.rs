//! The operator: it computes what every node should have from the objects of the API, and says on each object what became of it.
//!
//! Each decision is a pure function of what was observed; a thin shell carries it out. So far the crate holds the election of the
//! replica that writes.

pub mod leader;
