//! What the operator takes in a large cluster: memory, CPU, and calls of the API by its audit log. Some of the numbers are promises, and
//! the run fails if one is broken.

mod cluster;
mod report;
mod simulation;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use cluster::{Cluster, Replica};
pub use report::Measurements;
use report::{Calls, Claim, Phase};
pub use simulation::Rollouts;
use simulation::{Scenario, WRITES_PER_CHANGE, play};

/// The size of the cluster.
pub(crate) const MIRROR_SETS: usize = 1_000;
pub(crate) const IMAGES: usize = 50;
pub(crate) const NODES: usize = 5_000;
/// How many runtimes the nodes have, and so how many `NodeConfiguration`s there are.
const RUNTIMES: usize = 2;
/// How many nodes report something in the last phase.
const REPORTS: usize = 100;
/// How long the operator is watched at rest.
const REST: Duration = Duration::from_secs(30);
/// How long nothing must be written for the operator to be done. The number of nodes that have something is written every 10 s.
const QUIET: Duration = Duration::from_secs(12);

/// Measures `operator`, the program as it is shipped.
///
/// # Errors
/// If the cluster or the operator cannot be started.
pub fn run(operator: &Path) -> Result<Measurements> {
    let cluster = Cluster::start()?;
    let binary_bytes = std::fs::metadata(operator).context("the size of the operator")?.len();
    let mut phases = Vec::new();

    eprintln!("  from the start until everything is written");
    let mark = cluster.mark();
    let begun = Instant::now();
    let replica = cluster.operator(operator)?;
    let seconds = cluster.quiet_after(&replica, mark, MIRROR_SETS + 1 + RUNTIMES, begun, QUIET)?;
    phases.push(phase("start", seconds, Duration::ZERO, &cluster, &replica, mark)?);

    eprintln!("  {} s at rest", REST.as_secs());
    let (mark, cpu) = (cluster.mark(), replica.cpu()?);
    std::thread::sleep(REST);
    phases.push(phase("at rest", REST.as_secs_f64(), cpu, &cluster, &replica, mark)?);

    eprintln!("  one changed mirror set");
    let (mark, cpu, begun) = (cluster.mark(), replica.cpu()?, Instant::now());
    cluster.change_a_mirror_set()?;
    let seconds = cluster.quiet_after(&replica, mark, 2 * RUNTIMES + 1, begun, QUIET)?;
    phases.push(phase("one change", seconds, cpu, &cluster, &replica, mark)?);

    eprintln!("  {REPORTS} nodes report");
    let (mark, cpu, begun) = (cluster.mark(), replica.cpu()?, Instant::now());
    cluster.report_nodes(REPORTS)?;
    let seconds = cluster.quiet_after(&replica, mark, 1, begun, QUIET)?;
    phases.push(phase("100 reports", seconds, cpu, &cluster, &replica, mark)?);

    eprintln!("  roll-outs, simulated");
    let rollouts = rollouts()?;
    let claims = claims(&phases).into_iter().chain(rollouts.claims()).collect();
    Ok(Measurements { phases, rollouts, claims, peak_memory: replica.peak_memory()?, binary_bytes })
}

/// Simulates roll-outs in a large cluster.
///
/// # Errors
/// If one of them goes wrong.
pub fn rollouts() -> Result<Rollouts> {
    play(Scenario { seed: 1, nodes: NODES, max_unavailable: 50, chaos: 3_000, change_every: 300 })
}

fn phase(
    name: &'static str,
    seconds: f64,
    cpu_before: Duration,
    cluster: &Cluster,
    replica: &Replica,
    mark: cluster::Mark,
) -> Result<Phase> {
    let cpu_seconds = replica.cpu()?.saturating_sub(cpu_before).as_secs_f64();
    Ok(Phase { name, seconds, cpu_seconds, memory: replica.memory()?, calls: cluster.calls_since(mark)? })
}

impl Rollouts {
    fn claims(&self) -> [Claim; 2] {
        [
            Claim::at_most("roll-outs: nodes at once", self.most_in_flight, self.max_unavailable),
            Claim::at_most("roll-outs: writes per node and change", self.most_writes, WRITES_PER_CHANGE),
        ]
    }
}

/// What the operator promises.
fn claims(phases: &[Phase]) -> Vec<Claim> {
    let [start, rest, change, reports] = phases else { return Vec::new() };
    let writes = |calls: &Calls, what: &str| calls.writes(what);
    let sets = "imagedigestmirrorsets.config.openshift.io/status";
    let provider = "criocredentialproviderconfigs.config.openshift.io/status";
    let delivery = "nodeconfigurations.pullwright.dev";
    let no_other = |phase: &Phase| {
        phase.calls.writes("")
            - phase.calls.writes(sets)
            - phase.calls.writes(provider)
            - phase.calls.writes(delivery)
    };
    vec![
        Claim::exactly("start: NodeConfigurations written", writes(&start.calls, delivery), RUNTIMES),
        Claim::at_most(
            "start: statuses written",
            writes(&start.calls, "/status"),
            MIRROR_SETS + MIRROR_SETS / 10,
        ),
        Claim::exactly("at rest: writes besides the Lease", writes(&rest.calls, ""), 0),
        Claim::exactly(
            "one change: NodeConfigurations created",
            change.calls.of("patch", delivery),
            RUNTIMES,
        ),
        Claim::exactly(
            "one change: NodeConfigurations deleted",
            change.calls.of("delete", delivery),
            RUNTIMES,
        ),
        Claim::exactly("one change: statuses of mirror sets", writes(&change.calls, sets), 1),
        // Its conditions name the NodeConfigurations, which are new.
        Claim::at_most(
            "one change: statuses of the provider configuration",
            writes(&change.calls, provider),
            1,
        ),
        Claim::exactly("one change: other writes", no_other(change), 0),
        Claim::exactly("100 reports: NodeConfigurations written", writes(&reports.calls, delivery), 0),
        // At once, and once more when all of them are in.
        Claim::at_most("100 reports: writes", writes(&reports.calls, ""), 3),
    ]
}
