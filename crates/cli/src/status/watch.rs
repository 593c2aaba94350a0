//! `-w`: prints the status again whenever it changes.

use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::objects::ClusterObjects;
use super::read::{self, Until};
use super::report::{StatusReport, report};
use super::{reachable, text};
use crate::args::Format;
use crate::{Failure, RunOutcome, Streams, output};

/// How long to gather changes before they are printed: a roll-out changes many objects at once.
const GATHERS_FOR: Duration = Duration::from_millis(500);
/// How often to look without a change: a lease lapses although nobody changes it.
const LOOKS_EVERY: Duration = Duration::from_secs(5);
/// Clears a terminal and goes to its top.
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";

/// Prints until it is interrupted, which is how it ends well.
pub(super) async fn run(
    client: &Client,
    format: Format,
    streams: &mut Streams<'_>,
) -> Result<RunOutcome, Failure> {
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    let mut changes = read::changes(client, Until::Interrupted);
    let mut ticks = interval(LOOKS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut objects = ClusterObjects::default();
    let mut printed: Option<StatusReport> = None;
    let mut due: Option<Instant> = None;
    loop {
        tokio::select! {
            _ = &mut interrupted => return Ok(RunOutcome::Good),
            Some(change) = changes.recv() => {
                change(&mut objects);
                due.get_or_insert_with(|| Instant::now() + GATHERS_FOR);
                continue;
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            _ = ticks.tick() => {}
        }
        due = None;
        if printed.is_none() {
            reachable(&objects)?;
        }
        if !objects.is_complete() {
            continue;
        }
        let report = report(&objects, Timestamp::now());
        if printed.as_ref().is_none_or(|before| report.is_news_after(before)) {
            print(&report, format, streams.out)?;
            printed = Some(report);
        }
    }
}

/// Prints one status among several.
fn print(report: &StatusReport, format: Format, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Text => {
            if io::stdout().is_terminal() {
                write!(out, "{CLEAR}")?;
            }
            writeln!(out, "--- {:.0}", Timestamp::now())?;
            text::write(report, out)?;
        }
        // One document per line, so that a program knows where each ends.
        Format::Json => {
            serde_json::to_writer(&mut *out, report)?;
            writeln!(out)?;
        }
        Format::Yaml => {
            writeln!(out, "---")?;
            output::write(format, report, out, |_| Ok(()))?;
        }
    }
    out.flush()
}
