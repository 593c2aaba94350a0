//! `pullwright render`: mirror sets as the files that a node's runtime reads.

mod files;
mod write;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use serde::Serialize;

use files::POLICY_JSON;
pub(crate) use files::{NodeFile, REGISTRIES_CONF, REGISTRIES_YAML, Rendering, SEARCH_DROP_IN};
use pullwright_engine::mirrors::{ObjectOutcome as Verdict, Policy, PolicyError};
use pullwright_engine::registries::RegistriesConf;

use crate::args::{Format, Node, Output};
use crate::diagnostic::{Found, Message, without_credentials};
use crate::inputs::crio_files::CrioFiles;
use crate::inputs::manifests::ManifestFile;
use crate::inputs::mirror_sets::{self, Judged, Judgement};
use crate::inputs::{NodeFiles, manifests};
use crate::{Failure, Outcome, Streams, output, verdicts};

/// `pullwright render`
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Mirror sets and the Image named cluster: YAML and JSON files, folders with them, `-` for standard input. Without any, a
    /// node's own registries.conf is rendered for another runtime
    #[arg(
        value_name = "PATH",
        value_hint = ValueHint::AnyPath,
        required_unless_present_any = ["root", "registries_conf"],
        conflicts_with_all = ["root", "registries_conf", "registries_conf_dir"]
    )]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
    /// For CRI-O: also make policy.json, if the Image named cluster allows or blocks registries
    #[arg(long, requires = "paths")]
    policy: bool,
    /// Write the files instead of printing them: below the folder that stands for the runtime's, or to one file, which is a path
    /// that ends in .conf, .yaml, .yml, .toml or .json
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    to: Option<PathBuf>,
    /// Replace files that this program did not write
    #[arg(long, requires = "to")]
    force: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    node: Node,
}

/// What is rendered, and for whom.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// The runtime that reads the files
    #[arg(long = "for", value_name = "RUNTIME", value_enum, default_value_t = Runtime::Crio)]
    pub(crate) runtime: Runtime,
    /// A registries.conf whose search registries are kept, such as the one that nodes are installed with
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) base: Option<PathBuf>,
    /// For containerd and k3s: a registry to write a file for although only a wildcard is about it; may be given several times
    #[arg(long = "host", value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    /// The release image of the cluster, by digest: what nodes need to pull it is not blocked
    #[arg(long, value_name = "IMAGE", requires = "paths")]
    pub(crate) release_image: Option<String>,
}

/// The programs that pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Runtime {
    /// CRI-O, and everything else that reads registries.conf
    Crio,
    /// containerd: hosts.toml files below certs.d
    Containerd,
    /// k3s and RKE2: registries.yaml
    K3s,
}

pub(crate) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    if arguments.paths.is_empty() {
        return of_node(arguments, streams);
    }
    let files = read(&arguments.paths)?;
    let mut made = Made::new(&arguments.wanted, &files, None)?;
    if arguments.policy {
        made.add_policy()?;
    }
    finish(arguments, &made, streams)
}

/// What a node has today, for another runtime.
fn of_node(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    let conf = NodeFiles::open(&arguments.node)?.registries(&arguments.node)?;
    let rendering = Rendering::of(arguments.wanted.runtime, &conf, &arguments.wanted.hosts);
    rendering.files.iter().try_for_each(|file| without_credentials(&file.text))?;
    let made = Made { verdicts: Vec::new(), findings: Vec::new(), rendering, policy: Ok(None) };
    finish(arguments, &made, streams)
}

/// The manifests at all paths.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<ManifestFile>, Message> {
    let mut files = Vec::new();
    for path in paths {
        files.extend(manifests::read(path)?);
    }
    Ok(files)
}

/// Files, and what is to be said about them.
pub(crate) struct Made<'f> {
    pub(crate) verdicts: Vec<Judgement<'f>>,
    /// About files instead of objects.
    findings: Vec<Message>,
    pub(crate) rendering: Rendering,
    policy: Result<Option<Policy>, PolicyError>,
}

impl<'f> Made<'f> {
    /// Renders manifests. A file or an object that is broken hurts only itself, but there must be an object.
    /// Without `--base`, `node` is the template.
    pub(crate) fn new(
        wanted: &Wanted,
        files: &'f [ManifestFile],
        node: Option<&RegistriesConf>,
    ) -> Result<Self, Message> {
        let named = wanted.base.as_deref().map(files::base).transpose()?;
        let base = named.as_ref().or(node);
        let payload = wanted.release_image.as_deref().map(files::payload).transpose()?;
        let mut findings: Vec<_> = files.iter().flat_map(|file| &file.unreadable).cloned().collect();
        let objects = mirror_sets::read(files);
        if objects.is_empty() {
            return Err(findings.into_iter().next().unwrap_or_else(|| nothing_found(files)));
        }
        let Judged { merged, verdicts, .. } = mirror_sets::judge(objects, payload.as_ref());
        let for_crio = Rendering::for_crio(&merged, base);
        let rendering = match wanted.runtime {
            Runtime::Crio => for_crio,
            runtime => {
                let conf = CrioFiles::none()?.with(&for_crio.files)?.registries;
                Rendering::of(runtime, &conf, &wanted.hosts)
            }
        };
        findings.extend(named.as_ref().and_then(files::not_kept));
        Ok(Self { verdicts, findings, rendering, policy: merged.policy })
    }

    /// Adds `policy.json`, if the objects say anything about it.
    fn add_policy(&mut self) -> Result<(), Message> {
        if self.rendering.runtime != Runtime::Crio {
            let error = Message::error("only CRI-O reads policy.json");
            return Err(error.with_help("use --policy with --for crio"));
        }
        match &self.policy {
            Ok(policy) => self.rendering.files.extend(
                policy.iter().map(|policy| NodeFile { path: POLICY_JSON.into(), text: policy.render() }),
            ),
            Err(error) => {
                let message = Message::error(format!("no policy.json is made: {error}"));
                self.findings.push(message.with_help(error.help()));
            }
        }
        Ok(())
    }

    /// What is to be said about no object.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &Message> {
        self.findings.iter().chain(&self.rendering.unsaid)
    }

    pub(crate) fn has_errors(&self) -> bool {
        let of_objects = self.verdicts.iter().flat_map(|judged| &judged.messages);
        verdicts::any_error(self.findings().chain(of_objects))
    }

    /// Nobody means to replace a node's configuration by nothing at all.
    fn must_count(&self, to: &Path) -> Result<(), Message> {
        let counts = |judged: &Judgement<'_>| judged.outcome != Verdict::Rejected;
        if self.verdicts.is_empty() || self.verdicts.iter().any(counts) {
            return Ok(());
        }
        Err(Message::error(format!("no object can be used, so {} stays as it is", to.display())))
    }

    /// Everything but the files.
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
        [] => "no .yaml, .yml or .json file there".to_owned(),
        [only] => format!("no mirror set in {}", only.path.display()),
        files => format!("no mirror set in {} files", files.len()),
    };
    Message::error(text).with_help(
        "ImageDigestMirrorSet, ImageTagMirrorSet, ImageContentSourcePolicy and Image cluster are read",
    )
}

/// The answer as data.
#[derive(Serialize)]
struct Answer<'a> {
    runtime: Runtime,
    files: &'a [NodeFile],
    verdicts: Vec<verdicts::VerdictData<'a>>,
    findings: Vec<Found<'a>>,
}

fn finish(arguments: &Arguments, made: &Made<'_>, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    let format = arguments.output.format;
    if format == Format::Text {
        made.text(streams.err)?;
    }
    let files = &made.rendering.files;
    let written = match &arguments.to {
        Some(to) => {
            made.must_count(to)?;
            Some(write::to(to, &made.rendering, arguments.force)?)
        }
        None => None,
    };
    let answer = Answer {
        runtime: arguments.wanted.runtime,
        files,
        verdicts: verdicts::data(&made.verdicts),
        findings: made.findings().map(Found::from).collect(),
    };
    output::write(format, &answer, streams.out, |out| match &written {
        Some(written) => written.iter().try_for_each(|line| writeln!(out, "{line}")),
        None => print(&made.rendering, out),
    })?;
    Ok(if made.has_errors() { Outcome::Findings } else { Outcome::Good })
}

/// One file as it is, several one after the other, each below its path.
fn print(rendering: &Rendering, out: &mut dyn Write) -> io::Result<()> {
    if let Some(only) = rendering.only() {
        return out.write_all(only.as_bytes());
    }
    for (index, file) in rendering.files.iter().enumerate() {
        let gap = if index == 0 { "" } else { "\n" };
        writeln!(out, "{gap}# {}", file.path.display())?;
        out.write_all(file.text.as_bytes())?;
        if !file.text.ends_with('\n') {
            writeln!(out)?;
        }
    }
    Ok(())
}
