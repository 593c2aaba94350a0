//! Several pulls at once.

use std::{error::Error, fs, path::Path};

use pullwright_testkit::{
    node::MIRROR_LOGIN,
    programs::find,
    scenario::{self, Pulls, Scenario},
};

use crate::{Outcome, PLUGIN, leftovers};

/// A line of the kubelet's configuration.
pub(crate) const WITHOUT_LIMIT: &str = "registryPullQPS: 0";
/// How the kubelet says that it did not even try.
const LIMITED: &str = "pull QPS exceeded";
const PODS: usize = 50;
const RUNS: usize = 3;

pub(crate) fn two_images(scenario: &mut Scenario<'_>) -> Outcome {
    for image in ["library/one:1", "library/two:1"] {
        scenario.node().push("mirror", image)?;
    }
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let pulls =
        scenario::two_images_in_one_pod(scenario, ["docker.io/library/one:1", "docker.io/library/two:1"])?;
    scenario.figure(&pulls);
    assert_eq!(pulls.failed, []);
    Ok(())
}

/// What killed plugins were writing stays for a minute. It is in nobody's way, and it goes.
pub(crate) fn fifty_beside_killed_plugins(scenario: &mut Scenario<'_>) -> Outcome {
    leftovers::kill_plugins(scenario)?;
    for run in 0..RUNS {
        let pulls = fifty(scenario, &format!("{run}"))?;
        assert_eq!(pulls.failed, []);
    }
    leftovers::nothing_stays(scenario, leftovers::TEMPORARY)
}

/// The kubelet starts five pulls a second and ten at once, and fails the others itself.
pub(crate) fn fifty_with_limit(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().restart_kubelet("")?;
    let pulls = fifty(scenario, "0")?;
    let others: Vec<_> = pulls.failed.iter().filter(|(_, why)| !why.contains(LIMITED)).collect();
    assert!(others.is_empty(), "{others:#?}");
    Ok(())
}

/// Shows what the same Pods come to with the Go plugin and with ours, each without and with the kubelet's limit.
pub(crate) fn beside_the_go_plugin(scenario: &mut Scenario<'_>) -> Outcome {
    let node = scenario.node();
    // It takes none of our arguments.
    let go = node.root().join("go-plugin.sh");
    let program = find("go-crio-credential-provider")?;
    fs::write(&go, format!("#!/bin/sh\nexec {}\n", program.display()))?;
    for (plugin, program) in [("go", go.as_path()), ("ours", Path::new(PLUGIN))] {
        node.install_plugin(program)?;
        for (kubelet, limit) in [("unlimited", WITHOUT_LIMIT), ("limited", "")] {
            node.restart_kubelet(limit)?;
            scenario.figure(format!("{plugin}, kubelet {kubelet}"));
            for run in 0..RUNS {
                if let Err(error) = fifty(scenario, &format!("{plugin}-{kubelet}-{run}")) {
                    let reason = error.to_string();
                    scenario.figure(format!("{PODS} Pods: {}", reason.split(';').next().unwrap_or_default()));
                }
            }
        }
    }
    Ok(())
}

pub(crate) fn hundred(scenario: &mut Scenario<'_>) -> Outcome {
    let pulls = many(scenario, "0", 2 * PODS)?;
    assert_eq!(pulls.failed, []);
    Ok(())
}

fn fifty(scenario: &mut Scenario<'_>, run: &str) -> Result<Pulls, Box<dyn Error>> {
    many(scenario, run, PODS)
}

/// One burst, in a namespace of its own.
fn many(scenario: &mut Scenario<'_>, run: &str, pods: usize) -> Result<Pulls, Box<dyn Error>> {
    let burst = scenario.in_namespace(&format!("{}-{run}", scenario.namespace()))?;
    burst.node().push("mirror", "library/fifty:1")?;
    burst.give_login("mirror", MIRROR_LOGIN)?;
    let pulls = scenario::burst(&burst, "docker.io/library/fifty:1", pods);
    burst.delete_pods()?;
    let pulls = pulls?;
    let limited = pulls.failed.iter().filter(|(_, why)| why.contains(LIMITED)).count();
    scenario.figure(format!("{pods} Pods: {pulls}; failed by the kubelet's limit: {limited}"));
    Ok(pulls)
}
