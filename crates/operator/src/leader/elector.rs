//! One replica's part in the election, as a state machine without clock and network.

use std::time::Duration;

use thiserror::Error;

use super::record::{LeaseRecord, LeaseVersion};

/// A reading of this process's monotonic clock. It means nothing to any other process.
pub type Moment = Duration;

/// The duration in a record whose holder gave the lease back; client-go writes the same.
const RELEASED: Duration = Duration::from_secs(1);

/// How long everything may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    lease: Duration,
    renew_deadline: Duration,
    retry: Duration,
    write_timeout: Duration,
}

/// A timing that could elect two leaders, or lose the lease for one slow answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "make the lease longer than the renew deadline and a write together, and the renew deadline longer than two retries"
)]
pub struct TimingError;

impl Timing {
    /// client-go's defaults: a lease of 15 s, renewed within 10 s, tried every 2 s; and writes that may take 3 s.
    pub const DEFAULT: Self = Self {
        lease: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry: Duration::from_secs(2),
        write_timeout: Duration::from_secs(3),
    };

    /// # Errors
    /// If a leader could still be writing when another replica may take over.
    pub fn new(
        lease: Duration,
        renew_deadline: Duration,
        retry: Duration,
        write_timeout: Duration,
    ) -> Result<Self, TimingError> {
        let last_write_ends = renew_deadline.saturating_add(write_timeout);
        if last_write_ends >= lease || retry.saturating_mul(2) >= renew_deadline || retry.is_zero() {
            return Err(TimingError);
        }
        Ok(Self { lease, renew_deadline, retry, write_timeout })
    }

    /// How long a write of the leader may take; its client must give up then.
    #[must_use]
    pub fn write_timeout(&self) -> Duration {
        self.write_timeout
    }
}

/// What a replica does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElectionStep {
    /// Read the Lease, and report with [`Elector::read`].
    Read,
    /// Write this record with the present time as its `renewTime`, and report with [`Elector::wrote`]. Nobody reads the time, but a
    /// renewal must change the object, or the others do not see it.
    Write {
        /// The new record.
        record: LeaseRecord,
        /// The version to replace; `None` to create the object.
        over: Option<LeaseVersion>,
    },
    /// Wait until this moment.
    Wait(Moment),
    /// Leave: this replica led and could not renew in time. Its process ends, so that nothing it still had in mind is written.
    Leave,
}

/// Why a write of the lease did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFailure {
    /// Somebody else wrote first.
    Conflict,
    /// No answer, or an error: it may have happened or not.
    Unknown,
}

/// The Lease as this replica last saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sight {
    /// Not looked at yet.
    Unknown,
    /// There is none.
    Absent,
    /// There is one.
    Present {
        record: LeaseRecord,
        version: LeaseVersion,
        /// When this replica first saw this version.
        since: Moment,
    },
}

/// One replica in the election.
#[derive(Debug, Clone)]
pub struct Elector {
    identity: String,
    timing: Timing,
    sight: Sight,
    /// Whether `sight` may be out of date, and must be read again before anything is written.
    doubt: bool,
    /// When the write was sent that last made or kept this replica the leader.
    renewed: Option<Moment>,
    next: Moment,
}

impl Elector {
    /// A replica that has seen nothing. `identity` must be unique among all processes, also those of a restarted Pod.
    #[must_use]
    pub fn new(identity: impl Into<String>, timing: Timing) -> Self {
        Self {
            identity: identity.into(),
            timing,
            sight: Sight::Unknown,
            doubt: true,
            renewed: None,
            next: Moment::ZERO,
        }
    }

    /// Whether this replica may begin a write at `now`.
    #[must_use]
    pub fn leads(&self, now: Moment) -> bool {
        self.leads_until().is_some_and(|until| now < until)
    }

    /// Until when this replica may begin writes; `None` if it does not lead.
    #[must_use]
    pub fn leads_until(&self) -> Option<Moment> {
        self.renewed.map(|sent| sent + self.timing.renew_deadline)
    }

    /// What to do at `now`.
    #[must_use]
    pub fn step(&self, now: Moment) -> ElectionStep {
        if self.leads_until().is_some_and(|until| now >= until) {
            return ElectionStep::Leave;
        }
        if now < self.next {
            return ElectionStep::Wait(self.next);
        }
        match &self.sight {
            _ if self.doubt || !(self.holds() || self.is_free(now)) => ElectionStep::Read,
            Sight::Unknown => ElectionStep::Read,
            Sight::Absent => ElectionStep::Write { record: self.claim(0), over: None },
            Sight::Present { record, version, .. } => {
                let claim = if self.holds() {
                    self.claim(record.transitions)
                } else {
                    self.claim(record.transitions.saturating_add(1))
                };
                ElectionStep::Write { record: claim, over: Some(version.clone()) }
            }
        }
    }

    /// Tells the elector what a read found at `now`: the record and its version, or that there is no Lease.
    pub fn read(&mut self, now: Moment, found: Option<(LeaseRecord, LeaseVersion)>) {
        self.sight = match (found, &self.sight) {
            (None, _) => Sight::Absent,
            (Some((_, version)), Sight::Present { version: known, .. }) if version == *known => {
                self.sight.clone()
            }
            (Some((record, version)), _) => Sight::Present { record, version, since: now },
        };
        self.doubt = false;
        // Somebody else holds it, or nobody: whatever this replica had is over. If it should have renewed by now, it leaves all the
        // same: an answer that it was too busy to look at does not make it one that never led.
        if !self.holds() && self.leads_until().is_none_or(|until| now < until) {
            self.renewed = None;
        }
        self.next = if self.holds() || self.is_free(now) { now } else { now + self.timing.retry };
    }

    /// Tells the elector that a read failed at `now`.
    pub fn could_not_read(&mut self, now: Moment) {
        self.next = now + self.timing.retry;
    }

    /// Tells the elector how the write of `record` ended, which was sent at `sent`.
    ///
    /// Only a write over a version that this replica had watched makes it the leader. After it has *created* the Lease it waits for as
    /// long as for anybody else's: somebody may have deleted the Lease under a leader that has not noticed yet. The same
    /// holds for a write that got no answer and turns up later.
    pub fn wrote(
        &mut self,
        sent: Moment,
        now: Moment,
        record: LeaseRecord,
        result: Result<LeaseVersion, WriteFailure>,
    ) {
        match result {
            Ok(version) => {
                let replaced = matches!(self.sight, Sight::Present { .. });
                self.sight = Sight::Present { record, version, since: now };
                self.renewed = replaced.then_some(sent);
                self.next = now + self.timing.retry;
            }
            Err(failure) => {
                self.doubt = true;
                self.next = if failure == WriteFailure::Conflict { now } else { now + self.timing.retry };
            }
        }
    }

    /// The record that gives the lease back, and the version to replace, once all writes of this replica have ended. Others then need
    /// not wait.
    #[must_use]
    pub fn release(self) -> Option<(LeaseRecord, LeaseVersion)> {
        if !self.holds() {
            return None;
        }
        let Sight::Present { record, version, .. } = self.sight else { return None };
        Some((LeaseRecord { holder: None, duration: RELEASED, ..record }, version))
    }

    /// Whether this replica leads by the record that it last saw. That the record names it is not enough: see [`Elector::wrote`].
    fn holds(&self) -> bool {
        self.renewed.is_some()
            && matches!(&self.sight, Sight::Present { record, .. } if record.holder.as_deref() == Some(&self.identity))
    }

    /// Whether this replica may try to take the lease over at `now`.
    fn is_free(&self, now: Moment) -> bool {
        match &self.sight {
            Sight::Unknown => false,
            Sight::Absent => true,
            Sight::Present { record, since, .. } => {
                // That nobody holds it is not enough: somebody may have emptied it under a leader that has not noticed yet.
                let released = record.holder.is_none() && record.duration == RELEASED;
                released || now >= *since + record.duration.max(self.timing.lease)
            }
        }
    }

    fn claim(&self, transitions: u32) -> LeaseRecord {
        LeaseRecord { holder: Some(self.identity.clone()), duration: self.timing.lease, transitions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lease_that_was_given_back_is_free_at_once() {
        let cases = [
            (None, Duration::from_secs(1), true),
            (None, Duration::ZERO, false),
            (None, Duration::from_secs(15), false),
            (Some("somebody"), Duration::from_secs(1), false),
        ];
        for (holder, duration, free) in cases {
            let mut elector = Elector::new("a", Timing::DEFAULT);
            let record = LeaseRecord { holder: holder.map(str::to_owned), duration, transitions: 0 };
            let seen = Duration::from_secs(100);
            elector.read(seen, Some((record.clone(), LeaseVersion("1".to_owned()))));
            let takes = |now| matches!(elector.step(now), ElectionStep::Write { .. });
            assert_eq!(takes(seen), free, "{record:?}");
            assert!(takes(seen + Timing::DEFAULT.lease), "{record:?}");
        }
    }

    #[test]
    fn who_learns_too_late_that_another_leads_leaves() {
        let (mine, theirs) = (Timing::DEFAULT.lease, LeaseVersion("3".to_owned()));
        let record =
            |holder: &str| LeaseRecord { holder: Some(holder.to_owned()), duration: mine, transitions: 0 };
        let leader = || {
            let mut elector = Elector::new("a", Timing::DEFAULT);
            elector.read(Duration::ZERO, Some((record("b"), LeaseVersion("1".to_owned()))));
            let sent = mine + Duration::from_secs(1);
            elector.wrote(sent, sent, record("a"), Ok(LeaseVersion("2".to_owned())));
            assert!(elector.leads(sent));
            (elector, sent)
        };
        // Somebody took the lease from it in time: it follows, and may lead again.
        let (mut robbed, sent) = leader();
        robbed.read(sent + Duration::from_secs(1), Some((record("b"), theirs.clone())));
        assert!(matches!(robbed.step(sent + Duration::from_secs(2)), ElectionStep::Wait(_)));
        // It did not renew: the answer comes when its time is over.
        let (mut late, sent) = leader();
        let over = sent + Timing::DEFAULT.renew_deadline;
        late.read(over, Some((record("b"), theirs)));
        assert!(!late.leads(over));
        assert_eq!(late.step(over), ElectionStep::Leave);
    }

    #[test]
    fn a_timing_leaves_time_for_the_last_write() {
        let Timing { lease, renew_deadline, retry, write_timeout } = Timing::DEFAULT;
        assert_eq!(Timing::new(lease, renew_deadline, retry, write_timeout), Ok(Timing::DEFAULT));
        assert_eq!(
            Timing::new(renew_deadline + write_timeout, renew_deadline, retry, write_timeout),
            Err(TimingError)
        );
        assert_eq!(Timing::new(lease, renew_deadline, renew_deadline / 2, write_timeout), Err(TimingError));
    }
}
