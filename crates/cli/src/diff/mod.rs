//! `pullwright diff`: what mirror sets would change on a node, and what that affects.

mod words;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use pullwright_engine::registries::Notice;
use pullwright_nodeconfig::{ConfigChange, FileChange, RegistryChange, Runtime};
use serde::Serialize;

use crate::args::{Format, NodeArguments, Output};
use crate::diagnostic::{MessageData, without_credentials};
use crate::inputs::{NodeFiles, current};
use crate::render::{self, RenderArguments, Rendered};
use crate::style::{FAINT, STRONG, paint, plain};
use crate::{Failure, RunOutcome, Streams, output, verdicts};

/// `pullwright diff`
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Mirror sets and Image/cluster: YAML and JSON files, folders with such files, or `-` for standard input
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    wanted: RenderArguments,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    node: NodeArguments,
}

/// The answer as data.
#[derive(Serialize)]
struct DiffAnswer<'a> {
    runtime: &'a Runtime,
    /// What the change affects; none if nothing changes.
    notice: Option<Notice>,
    files: &'a [FileChange],
    verdicts: Vec<verdicts::VerdictData<'a>>,
    findings: Vec<MessageData<'a>>,
}

pub(crate) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
    let Arguments { paths, wanted, output, node } = arguments;
    let manifests = render::read(paths)?;
    let node_files = NodeFiles::open(node)?;
    let current = current::read(&node_files, node, wanted.runtime)?;
    let refused = |error| current::refused(&node_files, &current, &error);
    let state = (wanted.runtime.parse)(&current).map_err(refused)?;
    let made = Rendered::new(wanted, &manifests, state.template())?;
    let files = state.changes(&made.rendering.files).map_err(refused)?;
    without_credentials(&serde_json::to_string(&files).unwrap_or_default())?;
    let notice = files.iter().flat_map(|file| &file.changes).map(ConfigChange::notice).max();
    if output.format == Format::Text {
        made.text(streams.err)?;
    }
    let answer = DiffAnswer {
        runtime: wanted.runtime,
        notice,
        files: &files,
        verdicts: verdicts::data(&made.verdicts),
        findings: made.findings().map(MessageData::from).collect(),
    };
    output::write(output.format, &answer, streams.out, |out| {
        files.iter().try_for_each(|file| text(file, out))?;
        writeln!(out, "{}", words::verdict(wanted.runtime, notice))
    })?;
    Ok(if files.is_empty() && !made.has_errors() { RunOutcome::Good } else { RunOutcome::Findings })
}

fn text(file: &FileChange, out: &mut dyn Write) -> io::Result<()> {
    let foreign = "  (not written by pullwright: render replaces it only with --force)";
    let foreign = if file.foreign { paint(FAINT, foreign) } else { String::new() };
    writeln!(out, "{}{foreign}", paint(STRONG, plain(&file.path.display().to_string())))?;
    let mut last = None;
    for change in &file.changes {
        let (heading, lines) = match change {
            ConfigChange::Registry(change) => (heading(change), words::lines(&change.change)),
            ConfigChange::Endpoints(change) => (Some(plain(&change.host)), words::endpoints(change)),
        };
        if let Some(heading) = heading.as_ref().filter(|_| heading != last) {
            writeln!(out, "  {heading}")?;
        }
        let indent = if heading.is_some() { "    " } else { "  " };
        lines.iter().try_for_each(|line| writeln!(out, "{indent}{line}"))?;
        last = heading;
    }
    Ok(())
}

/// The entry that the change is about.
fn heading(change: &RegistryChange) -> Option<String> {
    let entry = plain(change.change.entry.as_deref()?);
    let by = change.overridden_by.as_ref().map(|by| {
        let by = plain(&by.display().to_string());
        paint(FAINT, format!(" (no effect: the entry in {by} overrides it)"))
    });
    Some(format!("{entry}{}", by.unwrap_or_default()))
}
