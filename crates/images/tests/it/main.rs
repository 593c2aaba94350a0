//! The service as it runs: the real program between a caller and a stand-in for containerd.

#![expect(clippy::unwrap_used, reason = "a test says no by a panic")]

mod caller;
mod cancellation;
mod containerd;
mod faults;
mod life;
mod passthrough;
mod pulls;
mod reload;
mod running;
mod tickets;
