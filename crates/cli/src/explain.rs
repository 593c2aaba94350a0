//! `pullwright explain`: the plan of a pull, as a tree that is read in five seconds.

use std::io::{self, Write};

use pullwright_engine::plan::{PlannedCandidate, PlannedSource, PullPlan};

use crate::args::Explain;
use crate::planned::{Planned, planned};
use crate::style::{BAD, FAINT, GOOD, STRONG, paint, plain};
use crate::{Failure, RunOutcome, Streams, output, words};

pub(crate) fn run(arguments: &Explain, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
    let Some(Planned { plan, .. }) = planned(&arguments.request, streams)? else {
        return Ok(RunOutcome::Findings);
    };
    output::write(arguments.output.format, &plan, streams.out, |out| {
        tree(&plan, &arguments.request.cluster.plugin_name, out)
    })?;
    Ok(if words::usable_sources(&plan) > 0 { RunOutcome::Good } else { RunOutcome::Findings })
}

fn tree(plan: &PullPlan, plugin: &str, out: &mut dyn Write) -> io::Result<()> {
    let image = paint(STRONG, plain(&plan.image));
    writeln!(out, "{image} in namespace {}", paint(STRONG, plain(&plan.namespace)))?;
    let mut branches = vec![words::invocation(plan, plugin)];
    branches.extend(plan.other_providers.iter().map(words::other_provider));
    for line in branches {
        writeln!(out, "├─ {line}")?;
    }
    let last = plan.candidates.len().saturating_sub(1);
    let mut number = 0;
    for (index, candidate) in plan.candidates.iter().enumerate() {
        candidate_tree(candidate, index == last, &mut number, out)?;
    }
    writeln!(out, "{}", words::verdict(plan))
}

fn candidate_tree(
    planned: &PlannedCandidate,
    last: bool,
    number: &mut usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (branch, below) = if last { ("└─", "   ") } else { ("├─", "│  ") };
    writeln!(out, "{branch} {}", paint(STRONG, words::short(&planned.candidate.reference)))?;
    for reason in words::reasons(planned) {
        writeln!(out, "{below}│  {}", paint(FAINT, reason))?;
    }
    if let Some(error) = &planned.fails {
        writeln!(out, "{below}│  {}", paint(BAD, format!("✗ {}", words::fails(error))))?;
    }
    let last = planned.sources.len().saturating_sub(1);
    for (index, source) in planned.sources.iter().enumerate() {
        let asked = planned.asks(source);
        let mark = if asked {
            *number += 1;
            paint(STRONG, format!("{number}."))
        } else {
            paint(FAINT, "–")
        };
        let (branch, beside) = if index == last { ("└─", "  ") } else { ("├─", "│ ") };
        writeln!(out, "{below}{branch} {mark} {}", words::source(source, asked))?;
        for line in credential_lines(source, asked) {
            writeln!(out, "{below}{beside}    {line}")?;
        }
    }
    Ok(())
}

/// What to say about the credential; nothing where the source is not asked anyway.
fn credential_lines(source: &PlannedSource, asked: bool) -> Vec<String> {
    if !asked {
        return Vec::new();
    }
    let style = if words::has_credential(&source.credential) { GOOD } else { FAINT };
    let style = if words::lookup_failed(&source.credential) { BAD } else { style };
    let chosen = paint(style, words::choice(&source.credential));
    let passed = source.shadowed.iter().map(|shadowed| paint(FAINT, words::shadowed(shadowed)));
    std::iter::once(chosen).chain(passed).collect()
}
