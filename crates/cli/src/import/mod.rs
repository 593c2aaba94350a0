//! `pullwright import`: the mirrors of containerd and K3s as mirror sets.

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
use crate::diagnostic::{Found, Message};
use crate::inputs::object_name;
use crate::{Failure, Outcome, Streams, output};
use objects::Object;

/// `pullwright import`
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// containerd's certs.d, a folder of it or a hosts.toml; registries.yaml of K3s or RKE2; `-` for standard input
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, required = true)]
    paths: Vec<PathBuf>,
    /// Whose files they are, instead of telling by name
    #[arg(long, value_name = "RUNTIME")]
    from: Option<From>,
    /// The registry that a hosts.toml is for [default: the name of its folder]
    #[arg(long, value_name = "HOST")]
    registry: Option<String>,
    /// The name of the objects
    #[arg(long, value_name = "NAME", default_value = "imported")]
    name: String,
    #[command(flatten)]
    output: Output,
}

/// Who reads the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum From {
    /// containerd: certs.d with a hosts.toml for each registry
    Containerd,
    /// K3s and RKE2: registries.yaml
    K3s,
}

pub(crate) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
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
    // One that cannot be read hurts only itself, but there must be one that can.
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
    let report = Report { objects, messages };
    output::write(arguments.output.format, &report.data(), streams.out, |out| report.text(out))?;
    for message in &report.messages {
        message.write(streams.err)?;
        writeln!(streams.err)?;
    }
    Ok(if report.messages.is_empty() { Outcome::Good } else { Outcome::Findings })
}

/// The API is stricter than containerd: what it would refuse is better known now.
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
    let message = Message::error("there is nothing to take over");
    let rule = &rules::import::NOTHING;
    let help = rule.row().map(|row| row.remedy.to_owned());
    Message { severity: rule.severity(), rule: Some(rule), help, ..message }
}

/// The answer.
struct Report {
    objects: Vec<Object>,
    messages: Vec<Message>,
}

/// The answer as data.
#[derive(Serialize)]
struct Data<'r> {
    objects: &'r [Object],
    findings: Vec<Found<'r>>,
}

impl Report {
    fn data(&self) -> Data<'_> {
        Data { objects: &self.objects, findings: self.messages.iter().map(Found::from).collect() }
    }

    /// Manifests, to be piped into kubectl.
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
