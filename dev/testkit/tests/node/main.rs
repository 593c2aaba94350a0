//! Pods on a real node. On containerd a stand-in plugin answers with the registry's login; on CRI-O the Go plugin hands over
//! what the namespace's Secret holds, and its known faults show that these tests see.

mod at_hand;
mod faults;
mod pulls;
mod under_systemd;

use std::{path::Path, process::ExitCode};

use pullwright_testkit::{
    node::{Options, Runtime, SystemdOptions},
    programs::find,
    registry::Registry,
    scenario::{Case, play, play_under_systemd},
};

const EACH: &[Runtime] = &[Runtime::Containerd, Runtime::Crio];
const CONTAINERD: &[Runtime] = &[Runtime::Containerd];
const CRIO: &[Runtime] = &[Runtime::Crio];

fn main() -> ExitCode {
    let cases = [
        Case {
            name: "a_pod_pulls_through_the_mirror",
            namespace: "app-team-alpha",
            runtimes: EACH,
            play: pulls::through_the_mirror,
        },
        Case {
            name: "a_wrong_password_fails_with_the_registrys_reason",
            namespace: "app-team-beta",
            runtimes: EACH,
            play: pulls::wrong_password,
        },
        Case {
            name: "a_registry_with_our_certificate_serves_a_pod",
            namespace: "app-team-gamma",
            runtimes: EACH,
            play: pulls::over_tls,
        },
        Case {
            name: "the_auth_file_lives_as_long_as_the_pull",
            namespace: "auth-file",
            runtimes: CRIO,
            play: pulls::life_of_the_auth_file,
        },
        Case {
            name: "a_second_node_runs_beside_it_and_leaves_nothing_when_killed",
            namespace: "side-by-side",
            runtimes: CONTAINERD,
            play: at_hand::killed,
        },
        Case {
            name: "the_sample_of_the_documentation_runs_on_a_node_at_hand",
            namespace: "sample",
            runtimes: EACH,
            play: at_hand::sample_as_documented,
        },
        Case {
            name: "go_plugin_fails_the_second_image_of_a_pod",
            namespace: "two-images",
            runtimes: CRIO,
            play: faults::two_images,
        },
        Case {
            name: "go_plugin_fails_some_of_a_burst",
            namespace: "burst",
            runtimes: CRIO,
            play: faults::burst,
        },
        Case {
            name: "go_plugin_lets_every_namespace_run_a_private_image",
            namespace: "private",
            runtimes: CRIO,
            play: faults::second_namespace,
        },
        Case {
            name: "go_plugin_leaves_credentials_after_back_off",
            namespace: "back-off",
            runtimes: CRIO,
            play: faults::left_credentials,
        },
    ];
    let on_a_node = play(&cases, Path::new(env!("CARGO_TARGET_TMPDIR")), |runtime| {
        let plugin = match runtime {
            Runtime::Containerd | Runtime::ContainerdWithImages => {
                Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/stand-in-plugin.sh")
            }
            Runtime::Crio => find("go-crio-credential-provider")?,
        };
        let mut options = Options::new(runtime, &plugin);
        options.registries.push(Registry {
            name: "tls",
            port: 5001,
            logins: vec![pulls::TLS_LOGIN],
            tls: true,
        });
        // The kubelet's own limit would fail pulls of a burst for a reason that is not the plugin's.
        options.kubelet.push_str("registryPullQPS: 0");
        Ok(options)
    });
    let under_systemd =
        play_under_systemd(&under_systemd::CASES, Path::new(env!("CARGO_TARGET_TMPDIR")), |runtime| {
            Ok(SystemdOptions::new(runtime))
        });
    if on_a_node == ExitCode::SUCCESS { under_systemd } else { on_a_node }
}
