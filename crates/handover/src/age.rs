//! How long a file has stood where it stands.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

/// When the file came to stand where it is: its `ctime`, which a rename sets, unlike `mtime`.
///
/// By `mtime` a file that waited in a queue would look stale the moment it appears under its name.
pub(crate) fn standing_since(stat: &Stat) -> SystemTime {
    let seconds = Duration::from_secs(stat.st_ctime.unsigned_abs());
    let whole = if stat.st_ctime < 0 { UNIX_EPOCH - seconds } else { UNIX_EPOCH + seconds };
    whole + Duration::from_nanos(stat.st_ctime_nsec)
}

/// How long a file has stood at `now`.
///
/// A file from the future means that the clock was set back. How far it is off then counts as its age: it must
/// not stand until the clock has caught up, and it is at most twice the bound until it goes.
pub(crate) fn age(since: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(since).unwrap_or_else(|future| future.duration())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_from_the_future_is_as_old_as_it_is_off() {
        let now = UNIX_EPOCH + Duration::from_secs(1000);
        assert_eq!(age(now - Duration::from_secs(3), now), Duration::from_secs(3));
        assert_eq!(age(now, now), Duration::ZERO);
        assert_eq!(age(now + Duration::from_secs(400), now), Duration::from_secs(400));
    }
}
