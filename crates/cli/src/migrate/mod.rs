//! `pullwright migrate`: objects of a kind that goes as objects of the kind that replaces it.
//!
//! `migrate icsp` does what `oc adm migrate icsp` does, with its flags, file names and error texts. It leaves out what only
//! the old object's place in a cluster meant, refuses what the API server would refuse, and proves before it writes anything
//! that no node gets another registries.conf.

mod proof;
mod report;
mod source;
mod write;
mod yaml;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};

use crate::args::{Format, Output};
use crate::diagnostic::Message;
use crate::{Failure, Outcome, Streams, output};
use proof::{Changed, Proof};
use report::{Migrated, Report, State};
use source::Source;

/// `pullwright migrate`
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make objects of the kind `ImageDigestMirrorSet` of those of the kind `ImageContentSourcePolicy`
    Icsp(Icsp),
}

/// `pullwright migrate icsp`
#[derive(Debug, Args)]
struct Icsp {
    /// Files with objects of the kind `ImageContentSourcePolicy`, `-` for standard input
    // Not `required`: without one, the error is the one that scripts know from oc.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// The folder to write to [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    dest_dir: Option<PathBuf>,
    /// Print the objects instead of writing files
    #[arg(long, conflicts_with_all = ["dest_dir", "format"])]
    to_stdout: bool,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    let What::Icsp(arguments) = &arguments.what;
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
    let report = Report { files: migrated, proof };
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
    Ok(if report.is_good() { Outcome::Good } else { Outcome::Findings })
}

/// What becomes of one file, now that it is known what becomes of all.
fn migrate(source: Source, proof: &Result<Proof, Changed>, folder: Option<&Path>) -> Migrated {
    let Source { path, policies, mut messages } = source;
    let names: Vec<_> = policies.iter().filter_map(|policy| policy.metadata.name.clone()).collect();
    if !messages.is_empty() || proof.is_err() {
        return Migrated { from: path, names, state: State::Failed, messages };
    }
    let state = yaml::documents(policies).and_then(|text| match (folder, names.first()) {
        (Some(folder), Some(name)) => write::file(folder, name, &text),
        _ => Ok(State::Printed { text }),
    });
    let state = state.unwrap_or_else(|error| {
        messages.push(Message::error(format!("error writing ImageDigestMirrorSet: {error}")));
        State::Failed
    });
    Migrated { from: path, names, state, messages }
}
