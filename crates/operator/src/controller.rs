//! What all controllers have in common: they wait for a change, let it settle, and make one pass over everything while this replica leads.
//! A pass looks at what is, not at what happened, so a change that was missed or came twice makes no difference.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until};

use crate::leader::Leadership;
use crate::metrics::Metrics;

/// How long to wait for further changes. A thousand objects that are applied together then cost a few passes, not a thousand.
const SETTLE: Duration = Duration::from_millis(500);
/// How soon to try again after a failure, at first and at last.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));

/// How a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Whether something failed that may succeed later.
    pub failed: bool,
    /// When to make another pass although nothing changes.
    pub again: Option<Duration>,
}

/// A controller.
pub trait Controller: Send {
    /// Its name in metrics and logs.
    const NAME: &'static str;

    /// Called when this replica begins to lead. What it saw before may be older than what the last leader wrote.
    fn begin(&mut self) {}

    /// Makes a pass: looks at everything, decides, and carries it out.
    fn pass(&mut self) -> impl Future<Output = Pass> + Send;
}

/// Drives a controller until `stop` becomes true.
pub async fn drive<C: Controller>(
    mut controller: C,
    changed: Arc<Notify>,
    mut leadership: Leadership,
    mut stop: watch::Receiver<bool>,
    metrics: Metrics,
) {
    let mut cadence = Cadence::default();
    loop {
        let again = cadence.again;
        let timer = async {
            match again {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let changed_now = tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = changed.notified() => true,
            () = leadership.changed() => false,
            () = timer => true,
        };
        let leads = leadership.may_write();
        if leads && !cadence.led {
            controller.begin();
        }
        if !cadence.is_due(leads, changed_now) {
            continue;
        }
        sleep(SETTLE).await;
        let begun = Instant::now();
        let pass = controller.pass().await;
        metrics.reconciled(C::NAME, begun.elapsed().as_secs_f64());
        cadence.ended(pass, Instant::now());
    }
}

/// When a controller makes its next pass.
#[derive(Debug, Default)]
struct Cadence {
    led: bool,
    failures: u32,
    again: Option<Instant>,
}

impl Cadence {
    /// Whether to make a pass now, after something changed or the time came, or after the leadership changed.
    fn is_due(&mut self, leads: bool, changed: bool) -> bool {
        let led = std::mem::replace(&mut self.led, leads);
        if !leads {
            // What was planned is for the next leader to do, who looks at everything anyway.
            *self = Self::default();
        }
        // What changed while another replica led was for that one to do, and may not have been done.
        leads && (changed || !led)
    }

    fn ended(&mut self, pass: Pass, now: Instant) {
        self.failures = if pass.failed { self.failures.saturating_add(1) } else { 0 };
        let retry = pass.failed.then(|| retry_after(self.failures));
        self.again = retry.into_iter().chain(pass.again).min().map(|wait| now + wait);
    }
}

/// How long to wait after so many failures in a row.
fn retry_after(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    RETRY.0.saturating_mul(1 << doublings).min(RETRY.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_leads_again_looks_at_everything_again() {
        let mut cadence = Cadence::default();
        assert!(!cadence.is_due(false, true), "another replica leads");
        assert!(cadence.is_due(true, false), "this one begins to lead");
        assert!(!cadence.is_due(true, false), "it renewed its lease");
        assert!(!cadence.is_due(false, false));
        assert!(cadence.is_due(true, false), "it leads again");
    }

    #[test]
    fn who_does_not_lead_waits_for_nothing() {
        let mut cadence = Cadence::default();
        cadence.is_due(true, true);
        cadence.ended(Pass { failed: true, again: None }, Instant::now());
        assert!(cadence.again.is_some());
        // A time that has come and stays would wake it for ever.
        cadence.is_due(false, true);
        assert_eq!(cadence.again, None);
    }

    #[test]
    fn failures_are_tried_again_less_and_less_often_but_for_ever() {
        assert_eq!(retry_after(1), Duration::from_secs(1));
        assert_eq!(retry_after(3), Duration::from_secs(4));
        assert_eq!(retry_after(u32::MAX), Duration::from_mins(5));
    }
}
