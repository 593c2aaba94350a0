//! Agents as processes, each with the files of a node of its own and the token of a Pod on it, and the operator beside them: never too many at
//! once, and a failure stops the rest. RBAC and policy as shipped.

#![expect(clippy::unwrap_used, reason = "a test says no by a panic")]

mod fleet;

use std::fs;
use std::time::Duration;

use pullwright_testkit::process::wait_until;

use crate::fleet::Fleet;

/// How long anything may take on a machine under load.
const PATIENCE: Duration = Duration::from_mins(2);
const HOSTS: &str = "etc/containerd/certs.d/quay.io/hosts.toml";

#[test]
fn a_canary_first_then_two_at_a_time_and_a_failure_stops_the_rest() {
    let fleet = Fleet::start("waves", &["a", "b", "c", "d", "e"], &["--max-unavailable=2", "--soak=1"]);

    // The first installation is paced too.
    fleet.mirror("first");
    fleet.wait_until_all_have(|text| text.contains("first.example.com"));
    let told = fleet.told_together();
    assert_eq!(told.first(), Some(&1), "a canary comes first: {told:?}");
    assert!(told.iter().all(|together| *together <= 2), "{told:?}");

    // On every node but the first to be told, something is in the way of the file.
    let canary = fleet.canary();
    let others: Vec<_> = fleet.nodes().into_iter().filter(|node| *node != canary).collect();
    for node in &others {
        fs::write(fleet.file(node, HOSTS), "# somebody was here\n").unwrap();
    }
    fleet.mirror("second");
    let failed = wait_until("a node says why it could not", PATIENCE, || {
        let failed: Vec<_> = fleet.states().into_iter().filter(|state| state.reason == "Failed").collect();
        if failed.is_empty() { Err(format!("{:?}", fleet.states())) } else { Ok(failed) }
    })
    .unwrap();
    assert!(failed[0].message.contains("hosts.toml changed since Pullwright wrote it"), "{failed:?}");
    // Whatever the operator would do next, it has had the time for it.
    std::thread::sleep(Duration::from_secs(5));
    let stopped = fleet.states();
    let with_second = stopped.iter().filter(|state| state.desired == stopped_at(&fleet)).count();
    assert!(with_second <= 3, "the canary and one wave at most: {stopped:?}");
    assert!(
        others.iter().any(|node| fs::read_to_string(fleet.file(node, HOSTS)).unwrap().contains("somebody"))
    );

    // The cause is gone: everything goes on by itself.
    for node in &others {
        let _ = fs::remove_file(fleet.file(node, HOSTS));
    }
    fleet.wait_until_all_have(|text| text.contains("second.example.com"));
    assert!(fleet.told_together().iter().all(|together| *together <= 2));

    // Nothing is wanted any more: the nodes have nothing of ours.
    fleet.without_mirror();
    wait_until("every node is as before", PATIENCE, || {
        let left: Vec<_> =
            fleet.nodes().into_iter().filter(|node| fleet.file(node, HOSTS).exists()).collect();
        let state = |node: &&str| fleet.file(node, "var/lib/pullwright").exists();
        let known: Vec<_> = fleet.nodes().into_iter().filter(state).collect();
        if left.is_empty() && known.is_empty() { Ok(()) } else { Err(format!("{left:?}, {known:?}")) }
    })
    .unwrap();
}

/// The configuration that is wanted now.
fn stopped_at(fleet: &Fleet) -> Option<String> {
    fleet
        .configurations()
        .into_iter()
        .find(|(_, text)| text.contains("second.example.com"))
        .map(|(name, _)| name)
}
