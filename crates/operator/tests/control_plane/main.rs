//! The operator's own program on a real API server, with the RBAC as shipped.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test says no by a panic")]

mod agent_access;
mod agents;
mod conditions;
mod deletion;
mod election;
mod faults;
mod mirrors;
mod namespaces;
mod openshift;
mod rollout;
mod scale;
mod sets;
mod steps;
mod world;
mod writers;
