//! Pacing: which nodes may take a new configuration now.
//!
//! A new configuration goes to a canary first. If the canary takes it and stays well for a while, the other nodes follow, at most so many at
//! a time across the whole cluster. A node that fails stops everything that would follow it, until the failure is gone or another
//! configuration is wanted. The first installation is a roll-out like any other.
//!
//! The decision is a pure function of what is observed. It knows no clock and no chance: the same observation gives the same nodes.

mod observe;
mod pace;
mod plan;
#[cfg(test)]
mod tests;

pub use observe::{NodeStates, PacedNodes};
pub use pace::{Pace, SHOWN_WITHIN};
pub use plan::{
    Assignment, MaxUnavailable, ObservedState, Progress, Proof, Revision, RolloutNode, RolloutPlan,
    RolloutPolicy, RolloutStage, had_by_all, plan,
};
