//! `pullwright import`: converts the mirrors of containerd and k3s to mirror sets.

mod objects;
mod source;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use pullwright_engine::containerd::{Collected, Imported};
use pullwright_engine::mirrors::{MergeInputs, merge};
use pullwright_findings::rules;
use serde::Serialize;

use crate::args::Output;
use crate::diagnostic::{Message, MessageData};
use crate::inputs::object_name;
use crate::{Failure, RunOutcome, Streams, output};
use objects::Object;

/// `pullwright import`
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// containerd's certs.d, one of its folders or a hosts.toml; registries.yaml of k3s or RKE2; or `-` for standard input
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, required = true)]
    paths: Vec<PathBuf>,
    /// The runtime that reads the files, instead of guessing from their names
    #[arg(long, value_name = "RUNTIME")]
    from: Option<ImportSource>,
    /// The registry that the hosts.toml is for [default: the name of its folder]
    #[arg(long, value_name = "HOST")]
    registry: Option<String>,
    /// The name of the new objects
    #[arg(long, value_name = "NAME", default_value = "imported")]
    name: String,
    #[command(flatten)]
    output: Output,
}

/// The runtimes whose files can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ImportSource {
    /// containerd: certs.d with a hosts.toml for each registry
    Containerd,
    /// k3s and RKE2: registries.yaml
    K3s,
}

pub(crate) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
    if !object_name::is_valid(&arguments.name) {
        return Err(object_name::refused(&arguments.name).into());
    }
    let mut collected = Collected::default();
    let (mut files, mut messages, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for path in &arguments.paths {
        match source::read(path, arguments.from, arguments.registry.as_deref()) {
            Ok(read) => {
                collected.extend(read.collected);
                files.extend(read.files);
                messages.extend(read.messages);
            }
            Err(message) => failed.push(message),
        }
    }
    // Files that cannot be read are skipped with a message, but at least one must be readable.
    if files.is_empty()
        && messages.is_empty()
        && let Some(last) = failed.pop()
    {
        failed.iter().try_for_each(|message| message.write(streams.err))?;
        return Err(last.into());
    }
    messages.extend(failed);
    let mut imported = collected.imported();
    imported.findings.sort_by_key(|(number, _)| *number);
    for findings in imported.findings.chunk_by(|(one, _), (other, _)| one == other) {
        let file = findings.first().and_then(|(number, _)| files.get(*number)?.as_ref());
        messages.extend(file.into_iter().flat_map(|file| file.messages(findings.iter().map(|(_, it)| it))));
    }
    messages.extend(refused(&imported, &arguments.name));
    let objects = objects::of(&imported, &arguments.name);
    if objects.is_empty() {
        messages.push(nothing());
    }
    let report = ImportReport { objects, messages };
    output::write(arguments.output.format, &report.data(), streams.out, |out| report.text(out))?;
    for message in &report.messages {
        message.write(streams.err)?;
        writeln!(streams.err)?;
    }
    Ok(if report.messages.is_empty() { RunOutcome::Good } else { RunOutcome::Findings })
}

/// What the API would reject, which is stricter than containerd.
fn refused(imported: &Imported, name: &str) -> Vec<Message> {
    let sets = imported.sets(name);
    let merged = merge(&MergeInputs { sets: &sets, sources: &imported.sources });
    let verdicts = merged.verdicts.iter().chain([&merged.sources]);
    let findings =
        verdicts.flat_map(|verdict| verdict.findings.iter().map(|finding| (&verdict.object, finding)));
    findings
        .map(|(object, finding)| Message {
            severity: finding.severity,
            rule: Some(finding.rule),
            text: format!("{object}, {}: {}", finding.at, finding.message),
            place: None,
            help: Some(finding.remedy().to_owned()),
        })
        .collect()
}

fn nothing() -> Message {
    let message = Message::error("nothing to import");
    let rule = &rules::import::NOTHING;
    let help = rule.row().map(|row| row.remedy.to_owned());
    Message { severity: rule.severity(), rule: Some(rule), help, ..message }
}

/// The answer.
struct ImportReport {
    objects: Vec<Object>,
    messages: Vec<Message>,
}

/// The answer as data.
#[derive(Serialize)]
struct ImportData<'r> {
    objects: &'r [Object],
    findings: Vec<MessageData<'r>>,
}

impl ImportReport {
    fn data(&self) -> ImportData<'_> {
        ImportData { objects: &self.objects, findings: self.messages.iter().map(MessageData::from).collect() }
    }

    /// Writes manifests for kubectl.
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        for (index, object) in self.objects.iter().enumerate() {
            if index > 0 {
                writeln!(out, "---")?;
            }
            object.write(out)?;
        }
        Ok(())
    }
}
