//! Carries out what the elector says, and tells everybody else in this process until when they may write.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::PostParams;
use pullwright_daemon::message;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::clock::now;
use super::{ElectionStep, Elector, LeaseRecord, LeaseVersion, Moment, Timing, WriteFailure, lease};
use crate::category::Category;

/// Tells whether this replica leads. Copies of it share one state.
#[derive(Debug, Clone)]
pub struct Leadership {
    until: watch::Receiver<Option<Moment>>,
    write_timeout: Duration,
}

impl Leadership {
    /// Whether a write may begin now.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.until.borrow().is_some_and(|until| now() < until)
    }

    /// How long a write may take.
    #[must_use]
    pub fn write_timeout(&self) -> Duration {
        self.write_timeout
    }

    /// Waits until this replica begins or ceases to lead, or renews.
    pub async fn changed(&mut self) {
        if self.until.changed().await.is_err() {
            // The election has ended, so nothing changes any more.
            std::future::pending::<()>().await;
        }
    }
}

/// How the election ended for this replica.
#[derive(Debug)]
pub enum Ended {
    /// It led and could not renew in time. The process must end.
    Lost,
    /// It was told to stop. It may still hold the lease, see [`Election::release`].
    Stopped(Box<Election>),
}

/// One replica's part in the election.
#[derive(Debug)]
pub struct Election {
    api: Api<Lease>,
    name: String,
    elector: Elector,
    until: watch::Sender<Option<Moment>>,
    timing: Timing,
    /// The Lease as it was last seen, for what is in it besides the record.
    last: Option<Lease>,
}

impl Election {
    /// A replica that will take part under this name.
    #[must_use]
    pub fn new(api: Api<Lease>, lease: &str, identity: &str, timing: Timing) -> (Self, Leadership) {
        let (until, receiver) = watch::channel(None);
        let leadership = Leadership { until: receiver, write_timeout: timing.write_timeout() };
        let elector = Elector::new(identity, timing);
        (Self { api, name: lease.to_owned(), elector, until, timing, last: None }, leadership)
    }

    /// Takes part until the lease is lost or `stop` says so.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> Ended {
        let mut told_to_stop = pin!(stop);
        loop {
            let wait = match self.elector.step(now()) {
                ElectionStep::Leave => return Ended::Lost,
                ElectionStep::Read => {
                    self.read().await;
                    Duration::ZERO
                }
                ElectionStep::Write { record, over } => {
                    self.write(record, over).await;
                    Duration::ZERO
                }
                ElectionStep::Wait(until) => until.saturating_sub(now()),
            };
            let leads_until = self.elector.leads_until();
            self.until.send_if_modified(|known| std::mem::replace(known, leads_until) != leads_until);
            tokio::select! {
                () = &mut told_to_stop => return Ended::Stopped(Box::new(self)),
                () = sleep(wait) => {}
            }
        }
    }

    /// Gives the lease back, so that the others need not wait. All writes of this process must have ended.
    pub async fn release(self) {
        self.until.send_replace(None);
        let Some((record, _)) = self.elector.release() else { return };
        let object = lease::lease(&self.name, &record, self.last.as_ref(), Timestamp::now());
        let parameters = PostParams::default();
        let write = self.api.replace(&self.name, &parameters, &object);
        match timeout(self.timing.write_timeout(), write).await {
            Ok(Ok(_)) => tracing::info!("gave the lease back"),
            Ok(Err(error)) => {
                tracing::warn!(reason = %Category::of(&error), "could not give the lease back: {}", message(&error));
            }
            Err(_) => {
                tracing::warn!(reason = %Category::ApiUnavailable, "could not give the lease back in time");
            }
        }
    }

    async fn read(&mut self) {
        match timeout(self.timing.write_timeout(), self.api.get_opt(&self.name)).await {
            Ok(Ok(found)) => {
                self.elector.read(now(), found.as_ref().map(lease::record));
                self.last = found;
            }
            Ok(Err(error)) => {
                tracing::warn!(reason = %Category::of(&error), "could not read the lease: {}", message(&error));
                self.elector.could_not_read(now());
            }
            Err(_) => {
                tracing::warn!(reason = %Category::ApiUnavailable, "could not read the lease in time");
                self.elector.could_not_read(now());
            }
        }
    }

    async fn write(&mut self, record: LeaseRecord, over: Option<LeaseVersion>) {
        let sent = now();
        // The elector only ever replaces the version that was read or written last, which is the one kept here.
        let before = over.and(self.last.as_ref());
        let object = lease::lease(&self.name, &record, before, Timestamp::now());
        let parameters = PostParams::default();
        let result = match before {
            Some(_) => {
                timeout(self.timing.write_timeout(), self.api.replace(&self.name, &parameters, &object)).await
            }
            None => timeout(self.timing.write_timeout(), self.api.create(&parameters, &object)).await,
        };
        let result = match result {
            Ok(Ok(written)) => {
                let (_, version) = lease::record(&written);
                self.last = Some(written);
                Ok(version)
            }
            Ok(Err(error)) if Category::of(&error) == Category::Conflict => Err(WriteFailure::Conflict),
            Ok(Err(error)) => {
                tracing::warn!(reason = %Category::of(&error), "could not write the lease: {}", message(&error));
                Err(WriteFailure::Unknown)
            }
            Err(_) => {
                tracing::warn!(reason = %Category::ApiUnavailable, "could not write the lease in time");
                Err(WriteFailure::Unknown)
            }
        };
        let led = self.elector.leads(now());
        self.elector.wrote(sent, now(), record, result);
        if !led && self.elector.leads(now()) {
            tracing::info!("this replica leads");
        }
    }
}
