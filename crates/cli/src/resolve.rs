//! `pullwright resolve`: only where an image is pulled from.

use std::io::{self, Write};

use pullwright_engine::plan::routes;
use pullwright_engine::registries::{Candidate, PullBy, PullSource};
use serde::Serialize;

use crate::args::Resolve;
use crate::diagnostic::Message;
use crate::inputs::configured::Configured;
use crate::inputs::{NodeFiles, manifests};
use crate::{Failure, RunOutcome, Streams, output};

/// The answer: the images that a name can mean, and where each is pulled from.
#[derive(Serialize)]
struct Resolution {
    image: String,
    candidates: Vec<Resolved>,
}

#[derive(Serialize)]
struct Resolved {
    #[serde(flatten)]
    candidate: Candidate,
    /// Why the runtime asks none of the sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    fails: Option<String>,
    sources: Vec<PullSource>,
}

pub(crate) fn run(arguments: &Resolve, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
    let node = NodeFiles::open(&arguments.node)?;
    let manifests = arguments.manifests.as_deref().map_or_else(|| Ok(Vec::new()), manifests::read)?;
    let Configured { registries, short_names, warnings, .. } =
        Configured::read(&node, &arguments.node, &manifests)?;
    for warning in warnings.iter().chain(&manifests::passed_over(&manifests)) {
        warning.write(streams.err)?;
    }
    let routes = match routes(&registries, &arguments.image, &short_names) {
        Ok(routes) => routes,
        Err(error) => {
            Message { help: error.help(), ..Message::error(error.to_string()) }.write(streams.err)?;
            return Ok(RunOutcome::Findings);
        }
    };
    let resolved = routes.into_iter().map(|(candidate, route)| {
        let fails = route.fails.map(|error| error.to_string());
        let serving = route.sources.into_iter().filter(|source| source.serves.serves(route.by));
        let sources = if fails.is_some() { Vec::new() } else { serving.collect() };
        Resolved { candidate, fails, sources }
    });
    let resolution = Resolution { image: arguments.image.clone(), candidates: resolved.collect() };
    output::write(arguments.output.format, &resolution, streams.out, |out| lines(&resolution, out))?;
    for failed in resolution.candidates.iter().filter_map(|resolved| resolved.fails.as_ref()) {
        Message::error(failed).write(streams.err)?;
    }
    let usable = resolution.usable().next().is_some();
    if !usable {
        Message::error("no source is left: all are blocked or invalid").write(streams.err)?;
    }
    Ok(if usable { RunOutcome::Good } else { RunOutcome::Findings })
}

impl Resolution {
    fn usable(&self) -> impl Iterator<Item = &PullSource> {
        self.candidates.iter().flat_map(|resolved| {
            let by = PullBy::of(&resolved.candidate.reference);
            resolved.sources.iter().filter(move |source| source.is_asked(by))
        })
    }
}

/// What is asked, in order; a script can take each line as it is.
fn lines(resolution: &Resolution, out: &mut dyn Write) -> io::Result<()> {
    resolution.usable().try_for_each(|source| writeln!(out, "{}", source.reference))
}
