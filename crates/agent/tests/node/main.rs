//! A node with a real systemd, on which operator and agent run as Pods from the manifests as shipped: from the API objects to a pull, and back
//! to the files of before.
//!
//! The cases share one node, and each goes on where the one before ended.

#![expect(clippy::unwrap_used, reason = "a test says no by a panic")]

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
/// CRI-O goes on with the network that it knows when the file about it is gone.
const CONTAINERD: &[Runtime] = &[Runtime::Containerd];

/// Who may use the mirrors. The namespace `team` has both in one Secret.
pub(crate) const LOGIN: Login = Login { user: "mirroruser", password: "mirrorpass" };

/// A case: what it shows, where, and itself.
type Row = (&'static str, &'static [Runtime], fn(&SystemdNode<'_>) -> Outcome);

/// In this order, since they share a node.
const ROWS: [Row; 10] = [
    ("api_objects_become_a_pull_through_the_mirror", EACH, roll_out::first),
    ("a_changed_mirror_set_restarts_nothing", EACH, roll_out::changed_mirror),
    ("what_stops_the_kubelet_is_rolled_back", EACH, roll_out::broken),
    ("a_newer_agent_and_back_fail_no_pull", EACH, pulls::upgrade),
    ("a_burst_of_pods_survives_a_roll_out_and_a_roll_back", EACH, pulls::burst),
    ("an_api_server_that_is_away_is_waited_for", EACH, pulls::api_server_away),
    ("a_killed_agent_goes_on_when_it_is_back", EACH, pulls::killed),
    ("a_kubelet_that_never_makes_the_node_ready_is_rolled_back", CONTAINERD, pulls::never_ready),
    ("a_node_whose_plugin_fails_says_so", EACH, pulls::outcomes),
    ("without_the_objects_every_file_is_as_before", EACH, roll_out::removed),
];

fn main() -> ExitCode {
    let cases = ROWS.map(|(name, runtimes, play)| SystemdCase { name, runtimes, play });
    play_under_systemd(&cases, Path::new(env!("CARGO_TARGET_TMPDIR")), |runtime| {
        let mirror = |name, port| Registry { name, port, logins: vec![LOGIN], tls: true };
        let mut options = SystemdOptions::new(runtime);
        options.registries = vec![mirror("mirror", 5000), mirror("other", 5001)];
        // The kubelet's own limit would fail pulls of a burst for a reason that is not ours.
        options.kubelet.push_str("registryPullQPS: 0\n");
        Ok(options)
    })
}
