//! One run of the benchmark: every program on every row, in random order.

use anyhow::{Context as _, Result};
use rustix::process::{getpid, set_child_subreaper};

use crate::cluster;
use crate::contender::{Contender, Programs, Taken};
use crate::load::{Load, ORDINARY};
use crate::report::{Measurements, Row};
use crate::stage::Stage;

/// The rows: few of everything, many Secrets, many registries beside, many mirrors of the image's own; and what somebody may
/// put into a namespace to take a node's memory: beside ten Secrets, nearly as much as is read of a list, and as many as can be named.
pub const ROWS: [Load; 7] = [
    ORDINARY,
    Load { secrets: 1000, ..ORDINARY },
    Load { secrets: 1000, registries: 1000, ..ORDINARY },
    Load { secrets: 1000, mirrors: 1000, ..ORDINARY },
    Load { hostile: 16, ..ORDINARY },
    Load { secrets: 1, hostile: 62, ..ORDINARY },
    Load { secrets: 1, hostile: 62, named: true, ..ORDINARY },
];

/// Measures all that `programs` has; ours and the bare exchange `rounds` times on every row.
///
/// # Errors
/// If a control plane cannot be started, or a program fails.
pub fn run(programs: &Programs, rounds: usize) -> Result<Measurements> {
    // Sweepers outlive the plugin that starts them: so they become our children, and can be waited for.
    set_child_subreaper(Some(getpid())).context("becoming a subreaper")?;
    let root = tempfile::tempdir().context("a folder for the benchmark")?;
    let plane = cluster::start(&root.path().join("plane"), &ROWS)?;
    let (server, ca) = (plane.server(), plane.ca());
    let stages = ROWS.iter().enumerate().map(|(number, load)| {
        let token = cluster::token(&plane, &load.namespace())?;
        Stage::new(&root.path().join(number.to_string()), *load, &server, &token)
    });
    let stages: Vec<Stage> = stages.collect::<Result<_>>()?;

    let mut taken: Vec<Vec<(Contender, Taken)>> = vec![Vec::new(); ROWS.len()];
    // Once each, not counted: the API server's caches and the machine's.
    for stage in &stages {
        for contender in programs.contenders().into_iter().filter(|of| takes_part(*of, &stage.load())) {
            programs.run(contender, stage, &server, &ca)?;
        }
    }
    let order = order(&programs.contenders(), rounds);
    for (done, &(row, contender)) in order.iter().enumerate() {
        if done % (order.len() / 10).max(1) == 0 {
            eprintln!("  {done} of {} runs", order.len());
        }
        let run = programs.run(contender, &stages[row], &server, &ca)?;
        taken[row].push((contender, run));
    }
    let size = std::fs::metadata(&programs.plugin).context("the plugin's size")?.len();
    let rows = ROWS.iter().zip(taken).map(|(load, taken)| Row::new(*load, &taken));
    Ok(Measurements { rows: rows.collect(), binary_bytes: size })
}

/// A namespace that was made to exhaust a node is ours to bear; the others would take minutes.
fn takes_part(contender: Contender, load: &Load) -> bool {
    contender == Contender::Ours || load.hostile == 0
}

/// Which program runs on which row, one after the other.
fn order(contenders: &[Contender], rounds: usize) -> Vec<(usize, Contender)> {
    let mut order = Vec::new();
    for (row, load) in ROWS.iter().enumerate() {
        for &contender in contenders.iter().filter(|of| takes_part(**of, load)) {
            let rounds = match contender {
                // Hundreds of milliseconds, and no ratio of small numbers.
                _ if load.hostile > 0 => rounds.div_ceil(8),
                // Seconds for each run.
                Contender::GoPlugin if load.mirrors > 1 => rounds.div_ceil(10),
                Contender::GoPlugin => rounds.div_ceil(2),
                Contender::Ours | Contender::BareExchange => rounds,
            };
            order.extend(std::iter::repeat_n((row, contender), rounds));
        }
    }
    fastrand::shuffle(&mut order);
    order
}
