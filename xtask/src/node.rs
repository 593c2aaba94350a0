//! `cargo xtask node`: a node for developing; and the tiers of tests that need real components.

use std::process::Command;

use crate::beside::Beside;
use crate::cargo::{cargo, succeed, test};
use crate::programs::{self, Programs, Tier};
use crate::tier::Outcome;

/// Prepares the programs, then runs the testkit's own program.
pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    let tier = if arguments.contains(&"crio") { Tier::Crio } else { Tier::Node };
    let programs = programs::ensure(tier).map_err(|missing| format!("cannot run a node here: {missing}"))?;
    if arguments.contains(&WITH_IMAGES) {
        build_node_programs()?;
    }
    let mut command =
        cargo(&["run", "--quiet", "--package", "pullwright-testkit", "--bin", "pullwright-node", "--"]);
    programs.pass_to(command.args(arguments));
    let status = command.status().map_err(|error| format!("starting cargo: {error}"))?;
    Ok(status.success())
}

/// Runs tests that need the programs of `tier`, with `cargo test` and these arguments.
pub(crate) fn tier(tier: Tier, arguments: &[&str]) -> Outcome {
    match programs::ensure(tier) {
        Ok(programs) => {
            let mut command = cargo(&[&["test"], arguments].concat());
            programs.pass_to(&mut command);
            test(&mut command)
        }
        Err(missing) => missing.into(),
    }
}

/// Starts tests on a node that has programs of ours. Builds everything first.
pub(crate) fn begin_with_our_programs(arguments: &[&str]) -> Beside {
    Beside::begin(with_our_programs(Tier::Node, arguments))
}

/// Runs tests on a node that has programs of ours.
pub(crate) fn tier_with_our_programs(tier: Tier, arguments: &[&str]) -> Outcome {
    with_our_programs(tier, arguments).map_or_else(|outcome| outcome, |mut command| test(&mut command))
}

fn with_our_programs(tier: Tier, arguments: &[&str]) -> Result<Command, Outcome> {
    let programs = programs::ensure(tier)?;
    build_node_programs().map_err(|why| Outcome::Failed { why })?;
    built(&programs, arguments)
}

/// Starts tests that need a control plane. Builds everything first.
pub(crate) fn begin_with_control_plane(arguments: &[&str]) -> Beside {
    let programs = programs::ensure(Tier::ControlPlane).map_err(Outcome::from);
    Beside::begin(programs.and_then(|programs| built(&programs, arguments)))
}

/// The command that runs tests, which are built now: a build in the background would make the tiers beside it wait for its lock.
fn built(programs: &Programs, arguments: &[&str]) -> Result<Command, Outcome> {
    let tests = arguments.split(|argument| *argument == "--").next().unwrap_or_default();
    succeed(&mut cargo(&[&["test", "--no-run"], tests].concat())).map_err(|why| Outcome::Failed { why })?;
    let mut command = cargo(&[&["test"], arguments].concat());
    programs.pass_to(&mut command);
    Ok(command)
}

/// Cargo builds a package's programs only for its own tests. The node finds them next to the test's.
fn build_node_programs() -> Result<(), String> {
    let packages =
        ["images", "provider", "operator", "agent"].map(|name| format!("--package=pullwright-{name}"));
    let mut command = cargo(&["build"]);
    succeed(command.args(packages))
}

/// The testkit's name for containerd behind our image service.
const WITH_IMAGES: &str = "containerd-with-images";

/// The testkit's own tests on a control plane, and those of the CRDs, the operator and `pullwright status`.
pub(crate) const CONTROL_PLANE: &[&str] = &[
    "-p",
    "pullwright-testkit",
    "-p",
    "pullwright-api",
    "-p",
    "pullwright",
    "--features",
    "real",
    "--test",
    "control_plane",
    "--",
    "--show-output",
];
/// The operator on control planes of its own, and with it agents as processes. The tests mostly wait: for leases to run out, and for an
/// API server that is away.
pub(crate) const OPERATOR: &[&str] = &[
    "-p",
    "pullwright-operator",
    "-p",
    "pullwright-agent",
    "--features",
    "real",
    "--test",
    "control_plane",
    "--",
    "--test-threads=3",
    "--show-output",
];
/// The tests in which a tracer watches the system calls of a program: it is killed at each, or each fails.
pub(crate) const TRACED: [&str; 4] = ["killed::", "failing::", "synced::", "updating::"];
/// The programs that they are about.
pub(crate) const KILLED: &[&str] = &[
    "-p",
    "pullwright-handover",
    "-p",
    "pullwright-provider",
    "-p",
    "pullwright-agent",
    "--test",
    "it",
    "--",
];
/// The registry client compared with skopeo, on a real registry.
pub(crate) const CLIENT: &[&str] =
    &["-p", "pullwright-registry", "--features", "real", "--test", "real", "--", "--show-output"];
/// The plugin with a control plane and a registry.
pub(crate) const PLUGIN: &[&str] =
    &["-p", "pullwright-provider", "--features", "real", "--test", "control_plane", "--", "--show-output"];
/// Rendered mirror sets, pulled through by skopeo from real registries.
pub(crate) const MIRROR_SETS: &[&str] =
    &["-p", "pullwright", "--features", "real", "--test", "skopeo", "--", "--show-output"];
/// Operator and agent as Pods on a node with a real systemd: from the API objects to a pull, and back.
pub(crate) const AGENT_CONTAINERD: &[&str] =
    &["-p", "pullwright-agent", "--features", "real", "--test", "node", "--", "--runtime", "containerd"];
/// The same on a node with CRI-O.
pub(crate) const AGENT_CRIO: &[&str] =
    &["-p", "pullwright-agent", "--features", "real", "--test", "node", "--", "--runtime", "crio"];
/// The testkit's scenarios on a node with containerd.
pub(crate) const CONTAINERD: &[&str] =
    &["-p", "pullwright-testkit", "--features", "real", "--test", "node", "--", "--runtime", "containerd"];
/// The same, and more, on a node with CRI-O.
pub(crate) const CRIO: &[&str] =
    &["-p", "pullwright-testkit", "--features", "real", "--test", "node", "--", "--runtime", "crio"];
/// The plugin's scenarios on a node with containerd, whose kubelet it answers.
pub(crate) const PLUGIN_CONTAINERD: &[&str] =
    &["-p", "pullwright-provider", "--features", "real", "--test", "node", "--", "--runtime", "containerd"];
/// The image service in front of a containerd without a node: every call both ways.
pub(crate) const IMAGES_CONFORMANCE: &[&str] =
    &["-p", "pullwright-images", "--features", "real", "--test", "conformance", "--", "--show-output"];
/// The plugin's scenarios on a node with the image service in front of containerd, to which it hands over files.
pub(crate) const PLUGIN_IMAGES: &[&str] =
    &["-p", "pullwright-provider", "--features", "real", "--test", "node", "--", "--runtime", WITH_IMAGES];
/// The same on a node with CRI-O.
pub(crate) const PLUGIN_CRIO: &[&str] =
    &["-p", "pullwright-provider", "--features", "real", "--test", "node", "--", "--runtime", "crio"];
