//! The Lease object, and the record in it.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;

use super::{LeaseRecord, LeaseVersion};

/// What a Lease says. A Lease that lacks something says as little as that: nobody holds it, or for no time at all.
#[must_use]
pub(super) fn record(lease: &Lease) -> (LeaseRecord, LeaseVersion) {
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    let record = LeaseRecord {
        holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
        duration: Duration::from_secs(seconds.unwrap_or_default()),
        transitions: spec.lease_transitions.and_then(|count| u32::try_from(count).ok()).unwrap_or_default(),
    };
    (record, LeaseVersion(lease.metadata.resource_version.clone().unwrap_or_default()))
}

/// The Lease that says this. `before` is the one it replaces, whose labels and annotations stay.
#[must_use]
pub(super) fn lease(name: &str, record: &LeaseRecord, before: Option<&Lease>, now: Timestamp) -> Lease {
    let before_spec = before.and_then(|lease| lease.spec.clone()).unwrap_or_default();
    let same_holder = before_spec.holder_identity == record.holder;
    let acquired = if same_holder { before_spec.acquire_time.clone() } else { None };
    Lease {
        metadata: before.map_or_else(
            || ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            |lease| ObjectMeta { managed_fields: None, ..lease.metadata.clone() },
        ),
        spec: Some(LeaseSpec {
            holder_identity: Some(record.holder.clone().unwrap_or_default()),
            lease_duration_seconds: i32::try_from(record.duration.as_secs()).ok(),
            lease_transitions: i32::try_from(record.transitions).ok(),
            acquire_time: acquired.or(Some(MicroTime(now))),
            renew_time: Some(MicroTime(now)),
            ..before_spec
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_the_way_through_a_lease() {
        let held =
            LeaseRecord { holder: Some("a".to_owned()), duration: Duration::from_secs(15), transitions: 3 };
        let now = Timestamp::from_second(1_000).unwrap();
        let object = lease("operator", &held, None, now);
        assert_eq!(record(&object).0, held);
        let free = LeaseRecord { holder: None, ..held };
        let object = lease("operator", &free, Some(&object), now);
        assert_eq!(record(&object).0, free);
    }

    #[test]
    fn a_renewal_keeps_the_moment_when_the_lease_was_taken() {
        let held =
            LeaseRecord { holder: Some("a".to_owned()), duration: Duration::from_secs(15), transitions: 0 };
        let first = lease("operator", &held, None, Timestamp::from_second(1_000).unwrap());
        let second = lease("operator", &held, Some(&first), Timestamp::from_second(1_002).unwrap());
        let spec = second.spec.unwrap();
        assert_eq!(spec.acquire_time, first.spec.unwrap().acquire_time);
        assert_ne!(spec.renew_time, spec.acquire_time);
    }

    #[test]
    fn an_empty_lease_is_nobodys() {
        let (empty, _) = record(&Lease::default());
        assert_eq!(empty, LeaseRecord { holder: None, duration: Duration::ZERO, transitions: 0 });
    }
}
