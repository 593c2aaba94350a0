//! Decides whether to retry a failed request, and when.

use std::time::Duration;

use hyper::StatusCode;

/// How often and how patiently to retry a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often to retry after the first failure.
    pub times: u32,
    /// The wait before the first retry; each further wait is twice as long.
    pub first_wait: Duration,
    /// The longest wait. If a registry asks for more, the client gives up on it and asks the next source.
    pub longest_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { times: 4, first_wait: Duration::from_millis(500), longest_wait: Duration::from_secs(30) }
    }
}

impl Retry {
    /// How long to wait after a status that says to come back later; `None` if there is no retry.
    pub(crate) fn after_status(
        &self,
        status: StatusCode,
        retry_after: Option<&str>,
        repeated: u32,
    ) -> Option<Duration> {
        let passing = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::INTERNAL_SERVER_ERROR
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        if !passing {
            return None;
        }
        // The header may also be a date. Clocks differ, and our own wait works as well.
        match retry_after.and_then(|text| text.trim().parse().ok()) {
            Some(seconds) => {
                let asked = Duration::from_secs(seconds);
                (repeated < self.times && asked <= self.longest_wait).then_some(asked)
            }
            None => self.after_break(repeated),
        }
    }

    /// How long to wait after a connection broke; `None` to give up.
    pub(crate) fn after_break(&self, repeated: u32) -> Option<Duration> {
        if repeated >= self.times {
            return None;
        }
        let factor = 1_u32.checked_shl(repeated).unwrap_or(u32::MAX);
        Some(self.first_wait.saturating_mul(factor).min(self.longest_wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRY: Retry =
        Retry { times: 3, first_wait: Duration::from_secs(1), longest_wait: Duration::from_secs(3) };

    #[test]
    fn waits_double_up_to_the_longest_and_end() {
        let waits: Vec<_> =
            (0..5).map(|repeated| RETRY.after_break(repeated).map(|wait| wait.as_secs())).collect();
        assert_eq!(waits, [Some(1), Some(2), Some(3), None, None]);
        let patient = Retry { times: u32::MAX, ..RETRY };
        assert_eq!(patient.after_break(4_000), Some(RETRY.longest_wait));
    }

    #[test]
    fn only_passing_troubles_are_repeated() {
        let after = |status| RETRY.after_status(StatusCode::from_u16(status).unwrap(), None, 0);
        for passing in [429, 500, 502, 503, 504] {
            assert!(after(passing).is_some(), "{passing}");
        }
        for standing in [200, 206, 307, 400, 401, 403, 404, 416, 501, 505] {
            assert_eq!(after(standing), None, "{standing}");
        }
    }

    #[test]
    fn the_registry_says_how_long() {
        let after =
            |header, repeated| RETRY.after_status(StatusCode::TOO_MANY_REQUESTS, Some(header), repeated);
        assert_eq!(after("2", 0), Some(Duration::from_secs(2)));
        assert_eq!(after("0", 2), Some(Duration::ZERO));
        assert_eq!(after("0", 3), None, "also a patient registry is asked a bounded number of times");
        assert_eq!(after("4", 0), None, "longer than we wait");
        assert_eq!(after("Sun, 06 Nov 1994 08:49:37 GMT", 1), Some(Duration::from_secs(2)));
        assert_eq!(after("-1", 0), Some(Duration::from_secs(1)));
    }
}
