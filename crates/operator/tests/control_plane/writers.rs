//! Who wrote, and whether it led: the audit log's answer.

use pullwright_testkit::control_plane::AuditEntry;

const LEASES: &str = "leases.coordination.k8s.io";

/// The replica that sent a request, by its user agent `pullwright-operator/<version> (<identity>)`; `None` for anybody else.
pub(crate) fn replica(entry: &AuditEntry) -> Option<&str> {
    let rest = entry.user_agent.strip_prefix("pullwright-operator/")?;
    rest.split_once('(')?.1.strip_suffix(')')
}

/// Whether an entry is about the replicas' Lease.
pub(crate) fn of_lease(entry: &AuditEntry) -> bool {
    entry.resource.as_deref() == Some(LEASES)
}

/// The holders that successful writes of the replicas gave the Lease, in order, without repetitions. Empty text is nobody.
pub(crate) fn holders(entries: &[AuditEntry]) -> Vec<String> {
    let writes =
        entries.iter().filter(|entry| of_lease(entry) && entry.succeeded() && replica(entry).is_some());
    let mut holders: Vec<String> = writes.filter_map(|entry| entry.holder.clone()).collect();
    holders.dedup();
    holders
}

/// The writes of replicas that did not lead when their request arrived, whatever the answer was. There must be none.
///
/// A replica leads from a successful *update* of the Lease until another replica's, or until it gives the Lease up. This is exact, and
/// here is why nothing weaker or sharper is asserted:
///
/// - Updates of the Lease name the version that they replace, so they took effect in the order in which they arrived. Their answers may
///   overlap with other requests; so requests are compared by when they arrived.
/// - A replica sends a write only after it was told that its update succeeded, and gives its last write up before the lease is over. So
///   its writes arrive between its first update and the next replica's, and those that fail do, too. They may *end* later:
///   a killed client does not take back what the API server has already read.
/// - *Creating* the Lease makes nobody the leader, and what others than replicas do to the Lease changes nothing: a leader may not
///   have noticed that its Lease was deleted, and whoever finds none waits as for a foreign one.
/// - What a network or a stopped process holds back arrives as late as it likes. No election can prevent that. So a test that
///   holds requests back looks at the strays itself: they must be refused.
pub(crate) fn strays(entries: &[AuditEntry]) -> Vec<&AuditEntry> {
    let mut leader: Option<&str> = None;
    let mut strays = Vec::new();
    for entry in entries {
        let Some(replica) = replica(entry).filter(|_| entry.is_write()) else { continue };
        if !of_lease(entry) {
            if leader != Some(replica) {
                strays.push(entry);
            }
        } else if entry.succeeded() && entry.verb == "update" {
            leader = entry.holder.as_deref().filter(|holder| !holder.is_empty());
        }
    }
    strays
}

/// Asserts that no replica wrote that did not lead, and that enough was written for that to mean something.
pub(crate) fn assert_one_writer(entries: &[AuditEntry], at_least: usize) {
    let strays = strays(entries);
    assert!(strays.is_empty(), "replicas that did not lead wrote: {strays:#?}");
    let writes = entries.iter().filter(|entry| replica(entry).is_some() && entry.is_write());
    let writes = writes.filter(|entry| !of_lease(entry) && entry.succeeded()).count();
    assert!(writes >= at_least, "only {writes} writes");
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use pullwright_testkit::control_plane::Completed;

    use super::*;

    fn entry(who: &str, verb: &str, resource: &str, holder: Option<&str>, code: u16) -> AuditEntry {
        let now = SystemTime::now();
        AuditEntry {
            verb: verb.to_owned(),
            uri: String::new(),
            resource: Some(resource.to_owned()),
            subresource: None,
            name: None,
            namespace: None,
            user: String::new(),
            user_agent: format!("pullwright-operator/1.0.0 ({who})"),
            received: now,
            completed: Some(Completed { at: now, code }),
            holder: holder.map(str::to_owned),
        }
    }

    #[test]
    fn a_stray_is_a_write_outside_of_the_time_as_leader() {
        let update = |who: &str, holder: &str, code| entry(who, "update", LEASES, Some(holder), code);
        let write = |who: &str| entry(who, "patch", "nodeconfigurations.pullwright.dev", None, 200);
        let read = |who: &str| entry(who, "list", "nodes", None, 200);
        let cases = [
            ("nobody leads yet", vec![write("a")], 1),
            (
                "who creates the Lease waits",
                vec![entry("a", "create", LEASES, Some("a"), 201), write("a")],
                1,
            ),
            ("it leads", vec![update("a", "a", 200), write("a"), update("a", "a", 200), write("a")], 0),
            ("another may read", vec![update("a", "a", 200), read("b")], 0),
            ("another may not write", vec![update("a", "a", 200), write("b")], 1),
            ("it wanted to lead", vec![update("a", "a", 200), update("b", "b", 409), write("b")], 1),
            ("it went on for too long", vec![update("a", "a", 200), update("b", "b", 200), write("a")], 1),
            ("it gave the Lease back", vec![update("a", "a", 200), update("a", "", 200), write("a")], 1),
        ];
        for (case, entries, expected) in cases {
            assert_eq!(strays(&entries).len(), expected, "{case}");
        }
    }
}
