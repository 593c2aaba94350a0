//! `pullwright pull`: the plan of a pull, carried out into an OCI layout.

mod display;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use pullwright_engine::plan::{PlannedCandidate, PullPlan};
use pullwright_engine::reference::Reference;
use pullwright_registry::{
    Client, Digest, Layout, Options, Platforms, PullError, Pulled, Request, Source, certificates,
};
use serde::Serialize;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use self::display::Display;
use crate::args::Pull;
use crate::diagnostic::Message;
use crate::inputs::{ClusterInputs, unreadable};
use crate::planned::{Planned, planned};
use crate::style::{FAINT, STRONG, paint, plain};
use crate::{Failure, RunOutcome, Streams, output, words};

/// The answer: the image, and where it came from and went.
#[derive(Serialize)]
struct PullAnswer<'a> {
    image: &'a Reference,
    source: &'a Reference,
    digest: &'a Digest,
    stored: &'a Digest,
    layout: &'a Path,
}

pub(crate) fn run(arguments: &Pull, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
    let Some(Planned { plan, cluster }) = planned(&arguments.request, streams)? else {
        return Ok(RunOutcome::Findings);
    };
    let client = client(arguments)?;
    let layout = Layout::open(&arguments.to).map_err(|error| Message::error(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = attempts(arguments, &plan, &cluster, (&client, &layout), &runtime, streams);
    // A name that is still being resolved must not keep a person who has given up waiting.
    runtime.shutdown_background();
    outcome
}

/// Tries the images that the name can mean, in order, until one is pulled.
fn attempts(
    arguments: &Pull,
    plan: &PullPlan,
    cluster: &ClusterInputs,
    (client, layout): (&Client, &Layout),
    runtime: &Runtime,
    streams: &mut Streams<'_>,
) -> Result<RunOutcome, Failure> {
    for candidate in &plan.candidates {
        let attempt = Attempt { arguments, client, layout, candidate };
        let sources = sources(plan, candidate, cluster);
        match runtime.block_on(attempt.make(&sources, streams))? {
            Ended::Pulled(pulled) => return attempt.tell(&pulled, streams),
            Ended::Failed(why) => Message::error(why).write(streams.err)?,
            Ended::Interrupted => {
                Message::error("interrupted; the layout still lists only the images that it had before")
                    .write(streams.err)?;
                break;
            }
        }
    }
    Ok(RunOutcome::Findings)
}

fn client(arguments: &Pull) -> Result<Client, Message> {
    let mut options = Options { parallel: arguments.parallel, ..Options::default() };
    for path in &arguments.authorities {
        let pem = fs::read(path).map_err(|error| unreadable(path, &error))?;
        let read =
            certificates(&pem).map_err(|error| Message::error(format!("{}: {error}", path.display())))?;
        options.authorities.extend(read);
    }
    Client::new(options).map_err(|error| Message::error(error.to_string()))
}

/// The sources that serve a candidate, with the credentials that the plan chose. Blocked ones are among them: that they are is
/// part of the error if no other source has the image.
fn sources(plan: &PullPlan, candidate: &PlannedCandidate, cluster: &ClusterInputs) -> Vec<Source> {
    let credentials = plan.credentials(candidate, &cluster.secrets, cluster.global.as_ref());
    let serving = candidate.sources.iter().zip(credentials).filter(|(planned, _)| planned.serves_this_pull);
    serving.map(|(planned, credential)| Source::planned(planned, credential)).collect()
}

/// How a pull ended.
enum Ended {
    Pulled(Pulled),
    Failed(String),
    Interrupted,
}

/// The pull of one image that the name can mean.
struct Attempt<'a> {
    arguments: &'a Pull,
    client: &'a Client,
    layout: &'a Layout,
    candidate: &'a PlannedCandidate,
}

impl Attempt<'_> {
    fn reference(&self) -> &Reference {
        &self.candidate.candidate.reference
    }

    async fn make(&self, sources: &[Source], streams: &mut Streams<'_>) -> Result<Ended, Failure> {
        if let Some(why) = &self.candidate.fails {
            return Ok(Ended::Failed(words::fails(why)));
        }
        let platforms = match &self.arguments.platform {
            _ if self.arguments.all_platforms => Platforms::All,
            Some(platform) => Platforms::One(platform.clone()),
            None => Platforms::This,
        };
        let name = self.reference().to_string();
        let request = Request { name: &name, sources, platforms };
        let (sender, mut lines) = mpsc::unbounded_channel();
        let display = Display::new(sender);
        let pull = self.client.pull(&request, self.layout, &display);
        tokio::pin!(pull);
        let ended = loop {
            tokio::select! {
                biased;
                Some(line) = lines.recv() => display.around(|| writeln!(streams.err, "{line}"))?,
                ended = &mut pull => break Some(ended),
                _ = tokio::signal::ctrl_c() => break None,
            }
        };
        display.clear();
        while let Ok(line) = lines.try_recv() {
            writeln!(streams.err, "{line}")?;
        }
        match ended {
            None => Ok(Ended::Interrupted),
            Some(Ok(pulled)) => Ok(Ended::Pulled(pulled)),
            // The folder is an input of ours; that it cannot be written says nothing about the image.
            Some(Err(PullError::Layout(error))) => Err(Message::error(error.to_string()).into()),
            Some(Err(error)) => Ok(Ended::Failed(error.to_string())),
        }
    }

    fn tell(&self, pulled: &Pulled, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
        let answer = PullAnswer {
            image: self.reference(),
            source: &pulled.source,
            digest: &pulled.digest,
            stored: &pulled.stored,
            layout: &self.arguments.to,
        };
        output::write(self.arguments.output.format, &answer, streams.out, |out| answer.text(out))?;
        Ok(RunOutcome::Good)
    }
}

impl PullAnswer<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let layout = plain(&self.layout.display().to_string());
        writeln!(out, "{} is in {layout}", paint(STRONG, self.image))?;
        writeln!(out, "{} {}", paint(FAINT, "source"), self.source)?;
        writeln!(out, "{} {}", paint(FAINT, "digest"), self.digest)?;
        if self.stored != self.digest {
            writeln!(out, "{} {}", paint(FAINT, "stored"), self.stored)?;
        }
        Ok(())
    }
}
