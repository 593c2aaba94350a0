//! A node with a real systemd, on which operator and agent run as Pods from the manifests as shipped: from the API objects to a pull, and back
//! to the files of before.
//!
//! The cases share one node, and each goes on where the one before ended.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says no by a panic")]

mod cluster;
mod roll_out;

use std::path::Path;
use std::process::ExitCode;

use pullwright_testkit::node::{Runtime, SystemdOptions};
use pullwright_testkit::registry::{Login, Registry};
use pullwright_testkit::scenario::{SystemdCase, play_under_systemd};

const EACH: &[Runtime] = &[Runtime::Containerd, Runtime::Crio];

/// Who may use the mirrors. The namespace `team` has both in one Secret.
pub(crate) const LOGIN: Login = Login { user: "mirroruser", password: "mirrorpass" };

/// In this order, since they share a node.
const CASES: [SystemdCase; 4] = [
    SystemdCase {
        name: "api_objects_become_a_pull_through_the_mirror",
        runtimes: EACH,
        play: roll_out::first,
    },
    SystemdCase {
        name: "a_changed_mirror_set_restarts_nothing",
        runtimes: EACH,
        play: roll_out::changed_mirror,
    },
    SystemdCase { name: "what_stops_the_kubelet_is_rolled_back", runtimes: EACH, play: roll_out::broken },
    SystemdCase {
        name: "without_the_objects_every_file_is_as_before",
        runtimes: EACH,
        play: roll_out::removed,
    },
];

fn main() -> ExitCode {
    play_under_systemd(&CASES, Path::new(env!("CARGO_TARGET_TMPDIR")), |runtime| {
        let mirror = |name, port| Registry { name, port, logins: vec![LOGIN], tls: true };
        let mut options = SystemdOptions::new(runtime);
        options.registries = vec![mirror("mirror", 5000), mirror("other", 5001)];
        // The kubelet's own limit would fail pulls of a burst for a reason that is not ours.
        options.kubelet.push_str("registryPullQPS: 0\n");
        Ok(options)
    })
}
