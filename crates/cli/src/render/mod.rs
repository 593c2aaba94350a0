//! `pullwright render`: renders mirror sets as the files that a node's runtime reads.

mod flags;
mod write;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use serde::Serialize;

use pullwright_engine::mirrors::{Policy, PolicyError};
use pullwright_engine::registries::RegistriesConf;
use pullwright_nodeconfig::{NodeFile, RUNTIMES, Rendering, Runtime, any_usable, crio};

use crate::args::{Format, NodeArguments, Output};
use crate::diagnostic::{Message, MessageData, without_credentials};
use crate::inputs::manifests::ManifestFile;
use crate::inputs::mirror_sets::{self, Judged, Judgement};
use crate::inputs::{NodeFiles, manifests};
use crate::{Failure, RunOutcome, Streams, output, verdicts};

/// `pullwright render`
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Mirror sets and Image/cluster: YAML and JSON files, folders with such files, or `-` for standard input. Without any, the
    /// node's own registries.conf is rendered for another runtime
    #[arg(
        value_name = "PATH",
        value_hint = ValueHint::AnyPath,
        required_unless_present_any = ["root", "registries_conf"],
        conflicts_with_all = ["root", "registries_conf", "registries_conf_dir"]
    )]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    wanted: RenderArguments,
    /// For CRI-O: also render policy.json, if Image/cluster allows or blocks registries
    #[arg(long, requires = "paths")]
    policy: bool,
    /// Write the files instead of printing them: to this folder, which stands for the runtime's own, or to this file if the path
    /// ends in .conf, .yaml, .yml, .toml or .json
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    to: Option<PathBuf>,
    /// Replace existing files, also those that pullwright does not recognise as its own
    #[arg(long, requires = "to")]
    force: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    node: NodeArguments,
}

/// What to render, and for which runtime.
#[derive(Debug, Args)]
pub(crate) struct RenderArguments {
    /// The container runtime that reads the files
    #[arg(long = "for", value_name = "RUNTIME", value_parser = runtime(), default_value = crio::RUNTIME.name)]
    pub(crate) runtime: &'static Runtime,
    /// A registries.conf whose search registries to keep, such as the one that your nodes are installed with
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) base: Option<PathBuf>,
    /// For containerd and k3s: a registry that only a wildcard matches and that needs a file of its own; can be repeated
    #[arg(long = "host", value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    /// The cluster's release image, by digest; nothing that nodes need to pull it is blocked
    #[arg(long, value_name = "IMAGE", requires = "paths")]
    pub(crate) release_image: Option<String>,
}

/// Accepts the name of a runtime of the table.
fn runtime() -> impl TypedValueParser<Value = &'static Runtime> {
    let names = RUNTIMES.iter().map(|runtime| PossibleValue::new(runtime.name).help(runtime.about));
    PossibleValuesParser::new(names)
        .try_map(|name| Runtime::find(RUNTIMES, &name).ok_or_else(|| format!("no runtime {name}")))
}

pub(crate) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
    if arguments.paths.is_empty() {
        return of_node(arguments, streams);
    }
    let files = read(&arguments.paths)?;
    let mut made = Rendered::new(&arguments.wanted, &files, None)?;
    if arguments.policy {
        made.add_policy()?;
    }
    finish(arguments, &made, streams)
}

/// Renders what a node has today for another runtime.
fn of_node(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
    let conf = NodeFiles::open(&arguments.node)?.registries(&arguments.node)?;
    let runtime = arguments.wanted.runtime;
    let rendering = (runtime.render)(&conf, &arguments.wanted.hosts);
    rendering.files.iter().try_for_each(|file| without_credentials(&file.content))?;
    let findings = rendering.unsupported.iter().map(Message::from).collect();
    let made = Rendered { verdicts: Vec::new(), findings, runtime, rendering, policy: Ok(None) };
    finish(arguments, &made, streams)
}

/// Reads the manifests at all paths.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<ManifestFile>, Message> {
    let mut files = Vec::new();
    for path in paths {
        files.extend(manifests::read(path)?);
    }
    Ok(files)
}

/// Rendered files, with the verdict on each object and the findings.
pub(crate) struct Rendered<'f> {
    pub(crate) verdicts: Vec<Judgement<'f>>,
    /// About files instead of objects.
    findings: Vec<Message>,
    runtime: &'static Runtime,
    pub(crate) rendering: Rendering,
    policy: Result<Option<Policy>, PolicyError>,
}

impl<'f> Rendered<'f> {
    /// Renders manifests. Invalid files and objects are dropped with a finding, but there must be at least one object.
    /// Without `--base`, `node` is the template.
    pub(crate) fn new(
        wanted: &RenderArguments,
        files: &'f [ManifestFile],
        node: Option<&RegistriesConf>,
    ) -> Result<Self, Message> {
        let named = wanted.base.as_deref().map(flags::base).transpose()?;
        let base = named.as_ref().or(node);
        let payload = wanted.release_image.as_deref().map(flags::payload).transpose()?;
        let mut findings: Vec<_> = files.iter().flat_map(|file| &file.unreadable).cloned().collect();
        let objects = mirror_sets::read(files);
        if objects.is_empty() {
            return Err(findings.into_iter().next().unwrap_or_else(|| nothing_found(files)));
        }
        let Judged { merged, verdicts, .. } = mirror_sets::judge(objects, payload.as_ref());
        let rendering = wanted.runtime.render_objects(&merged, base, &wanted.hosts);
        let rendering = rendering.map_err(|error| Message::error(error.to_string()))?;
        findings.extend(named.as_ref().and_then(flags::not_kept));
        findings.extend(rendering.unsupported.iter().map(Message::from));
        Ok(Self { verdicts, findings, runtime: wanted.runtime, rendering, policy: merged.policy })
    }

    /// Adds `policy.json`, if `Image/cluster` allows or blocks registries.
    fn add_policy(&mut self) -> Result<(), Message> {
        if self.runtime.policy.is_none() {
            let error = Message::error("only CRI-O reads policy.json");
            return Err(error.with_help("use --policy with --for crio"));
        }
        match &self.policy {
            Ok(policy) => {
                let file = policy.as_ref().and_then(|policy| self.runtime.policy_file(policy));
                self.rendering.files.extend(file);
            }
            Err(error) => {
                let message = Message::error(format!("cannot render policy.json: {error}"));
                self.findings.push(message.with_help(error.help()));
            }
        }
        Ok(())
    }

    /// The findings that are not about one object.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &Message> {
        self.findings.iter()
    }

    pub(crate) fn has_errors(&self) -> bool {
        let of_objects = self.verdicts.iter().flat_map(|judged| &judged.messages);
        verdicts::any_error(self.findings().chain(of_objects))
    }

    /// Refuses to replace a node's configuration with nothing at all.
    fn must_count(&self, to: &Path) -> Result<(), Message> {
        if any_usable(self.verdicts.iter().map(|judged| judged.outcome)) {
            return Ok(());
        }
        Err(Message::error(format!("no object is valid, so {} is left unchanged", to.display())))
    }

    /// Writes the findings and verdicts, not the files.
    pub(crate) fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        for message in self.findings() {
            message.write(out)?;
            writeln!(out)?;
        }
        verdicts::text(&self.verdicts, out)
    }
}

fn nothing_found(files: &[ManifestFile]) -> Message {
    let text = match files {
        [] => "no .yaml, .yml or .json file found".to_owned(),
        [only] => format!("no mirror set in {}", only.path.display()),
        files => format!("no mirror set in {} files", files.len()),
    };
    Message::error(text).with_help(
        "supported kinds: ImageDigestMirrorSet, ImageTagMirrorSet, ImageContentSourcePolicy, and Image/cluster",
    )
}

/// The answer as data.
#[derive(Serialize)]
struct RenderAnswer<'a> {
    runtime: &'a Runtime,
    files: Vec<FileData<'a>>,
    verdicts: Vec<verdicts::VerdictData<'a>>,
    findings: Vec<MessageData<'a>>,
}

/// A file as data.
#[derive(Serialize)]
struct FileData<'a> {
    path: &'a Path,
    text: &'a str,
}

impl<'a> From<&'a NodeFile> for FileData<'a> {
    fn from(file: &'a NodeFile) -> Self {
        Self { path: &file.path, text: &file.content }
    }
}

fn finish(
    arguments: &Arguments,
    made: &Rendered<'_>,
    streams: &mut Streams<'_>,
) -> Result<RunOutcome, Failure> {
    let format = arguments.output.format;
    if format == Format::Text {
        made.text(streams.err)?;
    }
    let written = match &arguments.to {
        Some(to) => {
            made.must_count(to)?;
            Some(write::to(to, made.runtime, &made.rendering, arguments.force)?)
        }
        None => None,
    };
    let answer = RenderAnswer {
        runtime: arguments.wanted.runtime,
        files: made.rendering.files.iter().map(FileData::from).collect(),
        verdicts: verdicts::data(&made.verdicts),
        findings: made.findings().map(MessageData::from).collect(),
    };
    output::write(format, &answer, streams.out, |out| match &written {
        Some(written) => written.iter().try_for_each(|line| writeln!(out, "{line}")),
        None => print(made, out),
    })?;
    Ok(if made.has_errors() { RunOutcome::Findings } else { RunOutcome::Good })
}

/// Prints a single file as it is, and several files one after the other, each below its path.
fn print(made: &Rendered<'_>, out: &mut dyn Write) -> io::Result<()> {
    if let Some(only) = made.runtime.only_file(&made.rendering) {
        return out.write_all(only.content.as_bytes());
    }
    for (index, file) in made.rendering.files.iter().enumerate() {
        let gap = if index == 0 { "" } else { "\n" };
        writeln!(out, "{gap}# {}", file.path.display())?;
        out.write_all(file.content.as_bytes())?;
        if !file.content.ends_with('\n') {
            writeln!(out)?;
        }
    }
    Ok(())
}
