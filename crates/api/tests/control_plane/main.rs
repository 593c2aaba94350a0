//! The definitions on a real API server: what it takes, what it refuses and in which words, how it merges what several
//! writers apply, and that what was stored before a rule came does not stop anybody.

#![expect(clippy::unwrap_used, reason = "a test says no by a panic")]

mod apply;
mod clients;
mod crio_credential_provider_config;
mod image;
mod mirror_sets;
mod nodes;
mod operator;
mod ratcheting;
mod row;
mod world;
