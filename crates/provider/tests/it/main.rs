//! The plugin at its edge: the real program, a request on its standard input, and everything that can be wrong around it.
//!
//! Each run is checked as the kubelet would: by exit code, one line of standard error and an answer that it accepts. And
//! each run is searched for the canaries, the password and the token that no output may hold.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by a panic")]

mod apart;
mod api_server;
mod auth_folder;
mod bounds;
mod check;
mod cluster;
mod configuration;
mod delivery;
mod dependencies;
mod encodings;
mod inputs;
mod journal;
mod killed;
mod named;
mod outcomes;
mod plugin;
mod requests;
mod secrets;
mod stage;
mod tickets;
mod trust;
mod usage;
