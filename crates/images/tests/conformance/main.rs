//! Every method of the image service, directly and through the service, on one real containerd: the same answers.

#![expect(clippy::unwrap_used, reason = "a test says no by a panic")]

#[expect(dead_code, reason = "the stand-in's tests need more of it")]
#[path = "../it/caller.rs"]
mod caller;
mod pulls;
mod restart;
#[expect(dead_code, reason = "the stand-in's tests need more of it")]
#[path = "../it/running.rs"]
mod running;
mod same_answers;
mod world;
