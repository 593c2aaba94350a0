//! The age of a file at its current name.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

/// When the file got its current name: its `ctime`, which a rename sets, unlike `mtime`.
///
/// By `mtime`, a file that waited in a queue would look stale as soon as it appears under its name.
pub(crate) fn standing_since(stat: &Stat) -> SystemTime {
    let seconds = Duration::from_secs(stat.st_ctime.unsigned_abs());
    let whole = if stat.st_ctime < 0 { UNIX_EPOCH - seconds } else { UNIX_EPOCH + seconds };
    whole + Duration::from_nanos(stat.st_ctime_nsec)
}

/// The age of a file at `now`.
///
/// A file from the future means that the clock was set back. The difference then counts as the file's age, so the file
/// does not stay until the clock has caught up: it goes after at most twice the bound.
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
