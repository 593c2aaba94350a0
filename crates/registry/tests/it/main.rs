//! Pulls from stand-in registries over real connections: what arrives, who is shown what, and what is made of every fault.

#![expect(clippy::unwrap_used, reason = "a test says no by a panic")]

mod dependencies;
mod faults;
mod login;
mod mirrors;
mod plain;
mod scene;
