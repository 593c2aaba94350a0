//! `pullwright status` with a real API server.

#![expect(clippy::unwrap_used, reason = "a test says no by a panic")]

mod many;
mod objects;
mod openshift;
mod status;
mod watch;
mod world;
