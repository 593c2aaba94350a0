//! Leader election: of several replicas, at most one writes at any moment.
//!
//! The replicas share a Lease object. Its holder writes it again every few seconds; whoever sees that it has not changed for as long as
//! the lease lasts takes it over. Nobody compares clocks of two machines: a replica measures on its own monotonic clock how long ago
//! *it* saw the record change, and never looks at the times that the record holds (client-go does the same). So a clock that is
//! an hour off elects no second leader.
//!
//! Two margins make it safe. A leader counts its time from when it *sent* the write that renewed the lease, and stops writing
//! after its renew deadline; the others count from when they *saw* that write, which is later, and wait for
//! the whole lease, which is longer. The difference is what a write that the leader began at the last moment may still take.

pub mod clock;
mod elector;
mod lease;
mod record;
#[cfg(test)]
mod simulation;
mod task;

pub use elector::{ElectionStep, Elector, Moment, Timing, TimingError, WriteFailure};
pub use record::{LeaseRecord, LeaseVersion};
pub use task::{Election, Ended, Leadership};
