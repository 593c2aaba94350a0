//! The report for people. Names and messages come from objects that others write, so each is made safe and short first.

use std::fmt::Display;
use std::io::{self, Write};

use indicatif::HumanBytes;

use super::nodes::{ConfigurationReport, Delivery, NodesReport, PoolReport, RolloutReport};
use super::report::{ObjectReport, OperatorReport, StatusReport, Summary};
use super::verdict::Outcome;
use crate::style::{BAD, FAINT, GOOD, STRONG, WARNING, paint, plain};

/// How many of a kind are listed; all are in the data.
const LISTED: usize = 10;
/// How many characters of a message are shown; all are in the data.
const SHOWN: usize = 400;

/// Writes the whole report.
pub(super) fn write(report: &StatusReport, out: &mut dyn Write) -> io::Result<()> {
    let sections = [
        ("Operator", vec![operator(&report.operator)]),
        ("Objects", objects(&report.objects)),
        ("Delivery", delivery(&report.delivery)),
        ("Nodes", nodes(&report.nodes)),
        ("Not readable", troubles(report)),
    ];
    for (title, lines) in sections {
        if !lines.is_empty() {
            writeln!(out, "{}", paint(STRONG, title))?;
            lines.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        }
    }
    writeln!(out, "{}", verdict(report))
}

fn operator(report: &OperatorReport) -> String {
    match report {
        OperatorReport::Running { holder, renewed_seconds_ago } => {
            format!("{} {}, renewed {renewed_seconds_ago} s ago", paint(GOOD, "✓"), short(holder))
        }
        OperatorReport::Lapsed { holder, renewed_seconds_ago } => format!(
            "{} nobody: the operator is not running, or cannot renew its lease; {} last did {renewed_seconds_ago} s ago, \
             if your clock and the operator's agree",
            paint(WARNING, "!"),
            short(holder)
        ),
        OperatorReport::Released => {
            format!("{} nobody: the operator has ended and gave its lease back", paint(WARNING, "!"))
        }
        OperatorReport::NotInstalled => {
            format!("{} nobody: the operator has never run in this cluster", paint(WARNING, "!"))
        }
        OperatorReport::Unknown => "unknown, because its Lease is not readable".to_owned(),
    }
}

/// The worst first; a long list of one outcome is cut, and one of good objects is only counted.
fn objects(objects: &[ObjectReport]) -> Vec<String> {
    let mut lines = Vec::new();
    for group in objects.chunk_by(|one, other| one.outcome == other.outcome) {
        if let [ObjectReport { outcome: Outcome::Applied, .. }, ..] = group {
            lines.extend(good(group));
        } else {
            lines.extend(bounded(group, object_lines));
        }
    }
    lines
}

fn good(objects: &[ObjectReport]) -> Vec<String> {
    let is_set =
        |object: &&ObjectReport| object.kind.ends_with("MirrorSet") || object.kind.ends_with("Policy");
    let (sets, others): (Vec<_>, Vec<_>) = objects.iter().partition(is_set);
    let mut lines = Vec::new();
    if sets.len() > LISTED {
        lines.push(format!("{} {} mirror sets applied", paint(GOOD, "✓"), sets.len()));
    } else {
        lines.extend(sets.into_iter().flat_map(object_lines));
    }
    lines.extend(others.into_iter().flat_map(object_lines));
    lines
}

fn object_lines(object: &ObjectReport) -> Vec<String> {
    let (style, mark, word) = match object.outcome {
        Outcome::Applied => (GOOD, "✓", "applied"),
        Outcome::NoConditions => {
            (FAINT, "-", "has no conditions in this cluster; its Events say what became of it")
        }
        Outcome::Waiting if object.conditions.is_empty() => (WARNING, "…", "not judged yet"),
        Outcome::Waiting => (WARNING, "…", "waiting"),
        Outcome::Partly => (BAD, "✗", "partly applied"),
        Outcome::Rejected => (BAD, "✗", "rejected"),
        Outcome::Failed => (BAD, "✗", "failed"),
    };
    let name = format!("{}/{}", object.kind, short(&object.name));
    let first = format!("{} {name} {}", paint(style, mark), paint(style, word));
    let why =
        object.conditions.iter().map(|one| format!("    {}: {}", short(&one.reason), short(&one.message)));
    [first].into_iter().chain(why).collect()
}

fn delivery(delivery: &Delivery) -> Vec<String> {
    match delivery {
        Delivery::MachineConfigs { pools } => bounded(pools, |pool| vec![pool_line(pool)]),
        Delivery::NodeConfigurations { configurations } => {
            bounded(configurations, |one| vec![configuration_line(one)])
        }
    }
}

fn pool_line(pool: &PoolReport) -> String {
    let name = short(&pool.pool);
    let PoolReport { machines, updated, degraded, .. } = pool;
    if !pool.present {
        return format!("- pool {name}: no MachineConfig {} in it", short(&pool.machine_config));
    }
    let config = short(&pool.machine_config);
    if !pool.rendered {
        let mark = paint(WARNING, "…");
        return format!(
            "{mark} pool {name}: {config} is not yet in what its {machines} machines should have"
        );
    }
    let failed = if *degraded > 0 { paint(BAD, format!(", {degraded} degraded")) } else { String::new() };
    format!(
        "{} pool {name}: {config}, {updated} of {machines} machines updated{failed}",
        mark(*updated, *machines, *degraded)
    )
}

fn configuration_line(report: &ConfigurationReport) -> String {
    let name = short(&report.name);
    let ConfigurationReport { wanted_by, on, failed_on, .. } = report;
    let Some(content) = &report.content else {
        return format!(
            "{} {name}: {} should have it, but it does not exist",
            paint(WARNING, "!"),
            count(*wanted_by, "node")
        );
    };
    let bytes = HumanBytes(content.bytes as u64);
    let files = format!("{} ({bytes}) for {}", count(content.files, "file"), content.runtime.name());
    let failed = if *failed_on > 0 { paint(BAD, format!(", {failed_on} failed")) } else { String::new() };
    if *wanted_by == 0 {
        return format!("- {name}: {files}, named by no NodeState");
    }
    let on = format!("on {on} of {}", count(*wanted_by, "node"));
    format!("{} {name}: {files}, {on}{failed}", mark(report.on, *wanted_by, *failed_on))
}

fn mark(done: usize, all: usize, failed: usize) -> String {
    if failed > 0 {
        paint(BAD, "✗")
    } else if done < all {
        paint(WARNING, "…")
    } else {
        paint(GOOD, "✓")
    }
}

fn nodes(report: &NodesReport) -> Vec<String> {
    let NodesReport {
        runtimes,
        rollouts,
        unsupported,
        waiting,
        in_flight,
        failed,
        failing_plugins,
        not_ready,
    } = report;
    let mut lines = Vec::new();
    let known: usize = runtimes.values().sum();
    if known + unsupported.len() > 0 {
        let mut parts: Vec<_> =
            runtimes.iter().map(|(runtime, nodes)| format!("{nodes} with {}", runtime.name())).collect();
        if !unsupported.is_empty() {
            parts.push(format!("{} with a runtime that is not supported", unsupported.len()));
        }
        lines.push(format!("{}: {}", count(known + unsupported.len(), "node"), parts.join(", ")));
    }
    lines.extend(rollouts.iter().map(rollout_line));
    lines.extend(bounded(failed, |node| {
        let why = format!("{}: {}", short(&node.reason), short(&node.message));
        vec![format!("{} {} {}: {why}", paint(BAD, "✗"), short(&node.name), paint(BAD, "failed"))]
    }));
    lines.extend(bounded(failing_plugins, |node| {
        let fails = paint(BAD, "plugin fails");
        vec![format!("{} {} {fails}: {}", paint(BAD, "✗"), short(&node.name), short(&node.message))]
    }));
    let names = |names: &mut dyn Iterator<Item = String>, all: usize| {
        let mut names: Vec<_> = names.take(LISTED).collect();
        if all > LISTED {
            names.push(format!("and {} more", all - LISTED));
        }
        names.join(", ")
    };
    lines.extend(bounded(in_flight, |node| {
        let why = match (&node.reason, &node.message) {
            (Some(reason), Some(message)) => format!("{}: {}", short(reason), short(message)),
            _ => "its agent has not taken note yet".to_owned(),
        };
        let mark = paint(WARNING, "…");
        vec![format!("{mark} {} {}: {why}", short(&node.name), paint(WARNING, "in flight"))]
    }));
    if !waiting.is_empty() {
        let names = names(&mut waiting.iter().map(|node| short(&node.name)), waiting.len());
        lines.push(format!("{} {}: {names}", paint(WARNING, "…"), paint(WARNING, "waiting")));
    }
    if !not_ready.is_empty() && !waiting.is_empty() {
        let names = names(&mut not_ready.iter().map(|node| short(node)), not_ready.len());
        let why = "which counts as unavailable, so the others may have to wait";
        lines.push(format!("{} not Ready, {why}: {names}", paint(WARNING, "!")));
    }
    if !unsupported.is_empty() {
        let names = names(
            &mut unsupported.iter().map(|node| match short(&node.runtime).as_str() {
                "" => format!("{} (no runtime reported yet)", short(&node.name)),
                runtime => format!("{} ({runtime})", short(&node.name)),
            }),
            unsupported.len(),
        );
        lines.push(format!("{} not supported: {names}", paint(WARNING, "!")));
    }
    lines
}

fn rollout_line(report: &RolloutReport) -> String {
    let RolloutReport { runtime, configuration, have, waiting, in_flight, failed, stopped } = report;
    let parts = [(*waiting, "waiting"), (*in_flight, "in flight"), (*failed, "failed")];
    let parts = parts.into_iter().filter(|(nodes, _)| *nodes > 0);
    let parts: String = parts.map(|(nodes, what)| format!(", {nodes} {what}")).collect();
    let stopped = match stopped {
        true => paint(BAD, "; stopped until the node that failed is well or something else is wanted"),
        false => String::new(),
    };
    format!(
        "{} {}: {have} of {} have {}{parts}{stopped}",
        mark(*have, report.nodes(), *failed),
        runtime.name(),
        count(report.nodes(), "node"),
        short(configuration)
    )
}

/// What is missing from the report.
fn troubles(report: &StatusReport) -> Vec<String> {
    let kinds = report
        .not_readable
        .iter()
        .map(|kind| format!("{} {}: not readable: {}", paint(WARNING, "!"), kind.kind, short(&kind.reason)));
    let objects = bounded(&report.unparsable, |object| {
        let name = format!("{}/{}", object.kind, short(&object.name));
        vec![format!("{} {name}: cannot be parsed: {}", paint(BAD, "✗"), short(&object.message))]
    });
    kinds.chain(objects).collect()
}

/// The answer in one line.
fn verdict(report: &StatusReport) -> String {
    let Summary {
        waiting_objects,
        waiting_nodes,
        nodes_in_flight,
        rejected_objects,
        partly_applied_objects,
        failed_objects,
        failed_nodes,
        failing_plugins,
        unparsable_objects,
    } = report.summary;
    let parts = [
        (failed_objects, "object", "failed"),
        (failed_nodes, "node", "failed"),
        (failing_plugins, "node", "with a plugin that fails"),
        (unparsable_objects, "object", "cannot be parsed"),
        (rejected_objects, "object", "rejected"),
        (partly_applied_objects, "object", "partly applied"),
        (waiting_objects, "object", "waiting"),
        (nodes_in_flight, "node", "in flight"),
        (waiting_nodes, "node", "waiting"),
    ];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, noun, what)| format!("{} {what}", count(number, noun)))
        .collect();
    let hidden = if report.not_readable.is_empty() { "" } else { ", as far as you may read it" };
    if report.summary.has_problems() {
        paint(BAD, format!("✗ {}{hidden}", parts.join(", ")))
    } else if report.summary.is_waiting() {
        paint(WARNING, format!("… {}{hidden}", parts.join(", ")))
    } else if matches!(report.operator, OperatorReport::Running { .. } | OperatorReport::Unknown) {
        paint(GOOD, format!("✓ everything is where it should be{hidden}"))
    } else {
        paint(WARNING, format!("! everything is where it should be{hidden}, but the operator is not running"))
    }
}

/// The lines of the first few, and how many more there are.
fn bounded<T>(all: &[T], lines: impl Fn(&T) -> Vec<String>) -> Vec<String> {
    let shown = all.iter().take(LISTED).flat_map(lines);
    let more = (all.len() > LISTED).then(|| format!("  and {} more", all.len() - LISTED));
    shown.chain(more).collect()
}

fn count(number: usize, noun: impl Display) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A text on one line, not too long, that cannot steer the terminal.
fn short(text: &str) -> String {
    let mut line: String = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(SHOWN) {
        line.truncate(end);
        line.push('…');
    }
    line
}
