//! A node with a real systemd, on which operator and agent run as Pods from the manifests as shipped: from the API objects to a pull, and back
//! to the files of before.
//!
//! The cases share one node, and each goes on where the one before ended.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says no by a panic")]

mod cluster;
mod pulls;
mod roll_out;

use std::path::Path;
use std::process::ExitCode;

use pullwright_testkit::node::{Runtime, SystemdNode, SystemdOptions};
use pullwright_testkit::registry::{Login, Registry};
use pullwright_testkit::scenario::{SystemdCase, play_under_systemd};

use crate::cluster::Outcome;

const EACH: &[Runtime] = &[Runtime::Containerd, Runtime::Crio];

/// Who may use the mirrors. The namespace `team` has both in one Secret.
pub(crate) const LOGIN: Login = Login { user: "mirroruser", password: "mirrorpass" };

/// A case: what it shows, and itself.
type Row = (&'static str, fn(&SystemdNode<'_>) -> Outcome);

/// In this order, since they share a node.
const ROWS: [Row; 10] = [
    ("api_objects_become_a_pull_through_the_mirror", roll_out::first),
    ("a_changed_mirror_set_restarts_nothing", roll_out::changed_mirror),
    ("what_stops_the_kubelet_is_rolled_back", roll_out::broken),
    ("a_newer_agent_and_back_fail_no_pull", pulls::upgrade),
    ("a_burst_of_pods_survives_a_roll_out_and_a_roll_back", pulls::burst),
    ("an_api_server_that_is_away_is_waited_for", pulls::api_server_away),
    ("a_killed_agent_goes_on_when_it_is_back", pulls::killed),
    ("a_kubelet_that_never_makes_the_node_ready_is_rolled_back", pulls::never_ready),
    ("a_node_whose_plugin_fails_says_so", pulls::outcomes),
    ("without_the_objects_every_file_is_as_before", roll_out::removed),
];

fn main() -> ExitCode {
    let cases = ROWS.map(|(name, play)| SystemdCase { name, runtimes: EACH, play });
    play_under_systemd(&cases, Path::new(env!("CARGO_TARGET_TMPDIR")), |runtime| {
        let mirror = |name, port| Registry { name, port, logins: vec![LOGIN], tls: true };
        let mut options = SystemdOptions::new(runtime);
        options.registries = vec![mirror("mirror", 5000), mirror("other", 5001)];
        // The kubelet's own limit would fail pulls of a burst for a reason that is not ours.
        options.kubelet.push_str("registryPullQPS: 0\n");
        Ok(options)
    })
}
