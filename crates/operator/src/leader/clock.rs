//! This process's clock for the election: it never goes back, and it also counts the time in which the machine was asleep. A leader that
//! wakes up must know that its lease is long over.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::Moment;

/// The present moment.
#[must_use]
pub fn now() -> Moment {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanoseconds)
}
