//! `cargo xtask test`: every tier of tests, in the order that finds mistakes at the lowest cost.

use std::ffi::OsStr;

use crate::cargo::{cargo, check, test};
use crate::programs::Tier;
use crate::tier::Report;
use crate::{bench, demo, deny, fuzz, node, oracle};

/// The number of cases for the comparison with the Go libraries.
const ORACLE_CASES: u64 = 200_000;
/// The time for fuzzing each parser.
const FUZZ_SECONDS: u64 = 5;

/// The tiers that run in parallel with others.
const ON_A_NODE: &str = "plugin and image service on a node";
const OPERATOR: &str = "operator and agents on a control plane";
const AGENT: &str = "operator and agent on a node with containerd";

pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    let fast = match arguments {
        [] => false,
        ["--fast"] => true,
        _ => return Err("usage: cargo xtask test [--fast]".to_owned()),
    };
    let ci = std::env::var_os("CI").is_some_and(|value| value != OsStr::new(""));
    let mut report = Report::default();
    report.run("format", || check(&mut cargo(&["fmt", "--all", "--check"])));
    report.run("clippy", || {
        check(&mut cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ]))
    });
    report.run("docs", || {
        check(
            cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"])
                .env("RUSTDOCFLAGS", "-D warnings"),
        )
    });
    if !fast {
        report.run("supply chain", deny::tier);
    }
    report.run("unit and property", || test(&mut cargo(&["test", "--workspace", "--lib", "--bins"])));
    report.run("examples in documentation", || test(&mut cargo(&["test", "--workspace", "--doc"])));
    report.run("edges and command line", || {
        let mut command = cargo(&["test", "--workspace", "--test", "it", "--"]);
        for traced in node::TRACED {
            command.args(["--skip", traced]);
        }
        test(&mut command)
    });
    // It mostly waits for Pods and timeouts; the tiers that run until its end need the processor.
    let on_a_node = (!fast).then(|| {
        println!("\n── {ON_A_NODE}: begun; what it prints comes when it has ended ──");
        node::begin_with_our_programs(node::PLUGIN_IMAGES)
    });
    let operator = (!fast).then(|| {
        println!("\n── {OPERATOR}: begun; what it prints comes when it has ended ──");
        node::begin_with_control_plane(node::OPERATOR)
    });
    report.run("demo", demo::tier);
    report.run("fuzz", || fuzz::tier(FUZZ_SECONDS));
    if !fast {
        report.run("killed at each system call", || {
            node::tier(Tier::Tracer, &[node::KILLED, &node::TRACED].concat())
        });
        report.run("what plugin and command line cost", bench::cost);
        report.run("oracle", || oracle::tier(ORACLE_CASES));
        report.run("control plane", || node::tier(Tier::ControlPlane, node::CONTROL_PLANE));
        report.run("registry client", || node::tier(Tier::Registry, node::CLIENT));
        report.run("plugin, registry, skopeo", || node::tier(Tier::Registry, node::PLUGIN));
        report.run("mirror sets, registry, skopeo", || node::tier(Tier::Registry, node::MIRROR_SETS));
        if let Some(begun) = operator {
            report.end(OPERATOR, begun);
        }
        if let Some(begun) = on_a_node {
            report.end(ON_A_NODE, begun);
        }
        println!("\n── {AGENT}: begun; what it prints comes when it has ended ──");
        let agent = node::begin_with_our_programs(node::AGENT_CONTAINERD);
        report.run("node with containerd", || node::tier(Tier::Node, node::CONTAINERD));
        report.run("plugin on a node with containerd", || node::tier(Tier::Node, node::PLUGIN_CONTAINERD));
        report.run("image service and containerd", || node::tier(Tier::Node, node::IMAGES_CONFORMANCE));
        report.end(AGENT, agent);
        report.run_if_present("node with CRI-O", || node::tier(Tier::Crio, node::CRIO));
        report.run_if_present("plugin on a node with CRI-O", || node::tier(Tier::Crio, node::PLUGIN_CRIO));
        report.run_if_present("operator and agent on a node with CRI-O", || {
            node::tier_with_our_programs(Tier::Crio, node::AGENT_CRIO)
        });
    }
    Ok(report.close(ci && !fast))
}
