//! The operator's own program on a real API server, with the RBAC as shipped.

#![expect(clippy::unwrap_used, reason = "a test says no by a panic")]

mod conditions;
mod election;
mod faults;
mod sets;
mod world;
mod writers;
