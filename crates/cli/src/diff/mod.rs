//! `pullwright diff`: what mirror sets would change on a node, and who could notice.

mod containerd;
mod crio;
mod words;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use pullwright_engine::registries::{Change, Notice};
use serde::Serialize;

use crate::args::{Format, Node, Output};
use crate::diagnostic::{Found, without_credentials};
use crate::inputs::NodeFiles;
use crate::inputs::certs_d;
use crate::inputs::crio_files::CrioFiles;
use crate::render::{self, Made, REGISTRIES_YAML, Runtime, Wanted};
use crate::style::{FAINT, STRONG, paint, plain};
use crate::{Failure, Outcome, Streams, output, verdicts};

/// `pullwright diff`
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Mirror sets and the Image named cluster: YAML and JSON files, folders with them, `-` for standard input
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    node: Node,
}

/// What becomes of one file of the node.
#[derive(Debug, Serialize)]
struct FileChange {
    path: PathBuf,
    /// Whether the file that is there has somebody else's text, which `render` replaces only with `--force`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    foreign: bool,
    changes: Vec<What>,
}

/// One thing that is different.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum What {
    /// In `registries.conf`.
    Entry(Noted),
    /// For containerd.
    Asked(containerd::Asked),
}

impl What {
    fn notice(&self) -> Notice {
        match self {
            Self::Entry(noted) => noted.change.notice,
            Self::Asked(asked) => asked.notice,
        }
    }
}

/// A change, and whether the node has a file that makes it idle.
#[derive(Debug, Serialize)]
struct Noted {
    #[serde(flatten)]
    change: Change,
    /// A drop-in with an entry of the same prefix, which replaces this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    overridden_by: Option<PathBuf>,
}

/// The answer as data.
#[derive(Serialize)]
struct Answer<'a> {
    runtime: Runtime,
    /// Who could notice; none if nothing changes.
    notice: Option<Notice>,
    files: &'a [FileChange],
    verdicts: Vec<verdicts::VerdictData<'a>>,
    findings: Vec<Found<'a>>,
}

pub(crate) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    let Arguments { paths, wanted, output, node } = arguments;
    let manifests = render::read(paths)?;
    let node_files = NodeFiles::open(node)?;
    let crio_files = match wanted.runtime {
        Runtime::Crio => CrioFiles::read(&node_files, node)?,
        Runtime::Containerd | Runtime::K3s => CrioFiles::none()?,
    };
    let made = Made::new(wanted, &manifests, Some(&crio_files.base))?;
    let rendered = &made.rendering.files;
    let files = match wanted.runtime {
        Runtime::Crio => crio::changes(&crio_files, rendered)?,
        Runtime::Containerd => containerd::changes(&certs_d::read(&node_files)?, rendered),
        Runtime::K3s => {
            let old = node_files.text(Path::new(REGISTRIES_YAML))?;
            let new = rendered.first().map(|file| file.text.as_str()).unwrap_or_default();
            containerd::changes_of_k3s(old.as_deref(), new)?
        }
    };
    without_credentials(&serde_json::to_string(&files).unwrap_or_default())?;
    let notice = files.iter().flat_map(|file| &file.changes).map(What::notice).max();
    if output.format == Format::Text {
        made.text(streams.err)?;
    }
    let answer = Answer {
        runtime: wanted.runtime,
        notice,
        files: &files,
        verdicts: verdicts::data(&made.verdicts),
        findings: made.findings().map(Found::from).collect(),
    };
    output::write(output.format, &answer, streams.out, |out| {
        files.iter().try_for_each(|file| file.text(out))?;
        writeln!(out, "{}", words::verdict(wanted.runtime, notice))
    })?;
    Ok(if files.is_empty() && !made.has_errors() { Outcome::Good } else { Outcome::Findings })
}

impl FileChange {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let foreign = "  (somebody else wrote it: render replaces it only with --force)";
        let foreign = if self.foreign { paint(FAINT, foreign) } else { String::new() };
        writeln!(out, "{}{foreign}", paint(STRONG, plain(&self.path.display().to_string())))?;
        let mut last = None;
        for what in &self.changes {
            let (heading, lines) = match what {
                What::Entry(noted) => (noted.heading(), words::lines(&noted.change)),
                What::Asked(asked) => (Some(plain(&asked.host)), words::asked(asked)),
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
}

impl Noted {
    /// The entry that the change is about.
    fn heading(&self) -> Option<String> {
        let entry = plain(self.change.entry.as_deref()?);
        let by = self.overridden_by.as_ref().map(|by| {
            let by = plain(&by.display().to_string());
            paint(FAINT, format!(" ({by} has its own entry, which counts instead)"))
        });
        Some(format!("{entry}{}", by.unwrap_or_default()))
    }
}
