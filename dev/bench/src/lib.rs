//! What the plugin takes: time, CPU and memory for each pull, beside the Go plugin and beside a bare program that makes
//! the same requests.
//!
//! A benchmark on a shared machine says little in milliseconds. So all programs run against the same real kube-apiserver,
//! in one run, in random order, and the result is ratios. Whether the plugin keeps its cost from one change to the next is
//! held by counted instructions (`tests/cost`), which no load disturbs. [`images`] measures the image service in the same way,
//! and [`operator`] the operator, which has no peer.

pub mod cluster;
pub mod contender;
pub mod images;
pub mod load;
pub mod operator;
pub mod plugin;
pub mod report;
pub mod stage;
mod usage;
