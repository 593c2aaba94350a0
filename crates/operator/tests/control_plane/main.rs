//! The operator's own program on a real API server, with the RBAC as shipped.

#![expect(clippy::unwrap_used, reason = "a test says no by a panic")]

mod conditions;
mod deletion;
mod mirrors;
mod namespaces;
mod openshift;
mod scale;
mod steps;
mod world;
