//! `pullwright status`: what should be where in a cluster, what is waiting, what failed and why.
//!
//! ```text
//! connect ──► read ──► ClusterObjects (plain data) ──► report (pure) ──► text, or data
//! ```

mod connect;
mod nodes;
mod objects;
mod read;
mod report;
#[cfg(test)]
mod tests;
mod text;
mod verdict;
mod watch;

use clap::Args;
use k8s_openapi::jiff::Timestamp;
use kube::Client;

use self::connect::ConnectArguments;
use self::objects::ClusterObjects;
use self::read::Until;
use self::report::report;
use crate::args::Output;
use crate::diagnostic::Message;
use crate::{Failure, RunOutcome, Streams, output};

/// `pullwright status`
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Print the status again whenever it changes, until you interrupt it
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    cluster: ConnectArguments,
}

pub(crate) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let client = arguments.cluster.client().await?;
        if arguments.watch {
            watch::run(&client, arguments.output.format, streams).await
        } else {
            once(&client, arguments, streams).await
        }
    });
    // A name that is still being resolved must not keep a person who has given up waiting.
    runtime.shutdown_background();
    outcome
}

/// Prints the status once.
async fn once(
    client: &Client,
    arguments: &Arguments,
    streams: &mut Streams<'_>,
) -> Result<RunOutcome, Failure> {
    let mut objects = ClusterObjects::default();
    let mut changes = read::changes(client, Until::Listed);
    while let Some(change) = changes.recv().await {
        change(&mut objects);
        reachable(&objects)?;
    }
    let report = report(&objects, Timestamp::now());
    output::write(arguments.output.format, &report, streams.out, |out| text::write(&report, out))?;
    Ok(if report.summary.has_problems() { RunOutcome::Findings } else { RunOutcome::Good })
}

/// Fails if the API server cannot be asked, which is no status.
fn reachable(objects: &ClusterObjects) -> Result<(), Message> {
    match objects.failure() {
        None => Ok(()),
        Some(why) => Err(Message::error(format!("asking the API server: {why}"))
            .with_help("check the kubeconfig and its context, with `kubectl version` for example")),
    }
}
