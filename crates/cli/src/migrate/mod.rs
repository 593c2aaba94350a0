//! `pullwright migrate`: converts deprecated resources to the kinds that replace them.
//!
//! `migrate icsp` does what `oc adm migrate icsp` does, with its flags, file names and error texts. It drops
//! metadata that only meant something for the old object in its cluster, rejects what the API server would reject, and proves
//! before it writes anything that no node's registries.conf changes.

mod proof;
mod report;
mod source;
mod write;
mod yaml;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};

use crate::args::{Format, Output};
use crate::diagnostic::Message;
use crate::{Failure, RunOutcome, Streams, output};
use proof::{Changed, Proof};
use report::{MigratedFile, MigrationReport, MigrationState};
use source::Source;

/// `pullwright migrate`
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: MigrateCommand,
}

#[derive(Debug, Subcommand)]
enum MigrateCommand {
    /// Convert `ImageContentSourcePolicy` objects to `ImageDigestMirrorSet`
    Icsp(Icsp),
}

/// `pullwright migrate icsp`
#[derive(Debug, Args)]
struct Icsp {
    /// Files with `ImageContentSourcePolicy` objects; `-` for standard input
    // Not `required`: without one, the error is the one that scripts know from oc.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// The folder to write to [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    dest_dir: Option<PathBuf>,
    /// Print the objects instead of writing files
    #[arg(long, conflicts_with_all = ["dest_dir", "format"])]
    to_stdout: bool,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
    let MigrateCommand::Icsp(arguments) = &arguments.command;
    if arguments.files.is_empty() {
        let message = "convert expects at least one argument, path to an imagecontentsourcepolicy file";
        return Err(Message::error(message).into());
    }
    let folder = match &arguments.dest_dir {
        _ if arguments.to_stdout => None,
        folder => Some(write::folder(folder.as_deref())?),
    };
    let sources = source::read(&arguments.files);
    let proof =
        proof::prove(sources.iter().filter(|source| source.is_good()).flat_map(|source| &source.policies));
    let migrated = sources.into_iter().map(|source| migrate(source, &proof, folder.as_deref())).collect();
    let report = MigrationReport { files: migrated, proof };
    if arguments.to_stdout {
        report.objects(streams.out)?;
        report.messages(streams.err)?;
        report.proof(streams.err)?;
    } else {
        if arguments.output.format == Format::Text {
            report.messages(streams.err)?;
        }
        output::write(arguments.output.format, &report, streams.out, |out| report.text(out))?;
    }
    Ok(if report.is_good() { RunOutcome::Good } else { RunOutcome::Findings })
}

/// Converts one file, once the proof covers all of them.
fn migrate(source: Source, proof: &Result<Proof, Changed>, folder: Option<&Path>) -> MigratedFile {
    let Source { path, policies, mut messages } = source;
    let names: Vec<_> = policies.iter().filter_map(|policy| policy.metadata.name.clone()).collect();
    if !messages.is_empty() || proof.is_err() {
        return MigratedFile { from: path, names, state: MigrationState::Failed, messages };
    }
    let state = yaml::documents(policies).and_then(|text| match (folder, names.first()) {
        (Some(folder), Some(name)) => write::file(folder, name, &text),
        _ => Ok(MigrationState::Printed { text }),
    });
    let state = state.unwrap_or_else(|error| {
        messages.push(Message::error(format!("error writing ImageDigestMirrorSet: {error}")));
        MigrationState::Failed
    });
    MigratedFile { from: path, names, state, messages }
}
