//! The progress of a pull: a bar on a terminal, plain lines elsewhere.

use std::collections::HashMap;
use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, PoisonError};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use pullwright_registry::{Digest, Event, Progress};
use tokio::sync::mpsc::UnboundedSender;

use crate::style::{WARNING, paint, plain};

const BAR: &str = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec}";

/// Turns events into lines, and moves the bar.
///
/// The bar is drawn by the thread that pulls and by no other: that thread holds the lock of the stream it is drawn on.
pub(super) struct Display {
    lines: UnboundedSender<String>,
    /// `None` if the output is not a terminal.
    bar: Option<ProgressBar>,
    here: Mutex<HashMap<Digest, u64>>,
}

impl Display {
    pub(super) fn new(lines: UnboundedSender<String>) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            // Shown once there is something to measure.
            let bar = ProgressBar::hidden();
            match ProgressStyle::with_template(BAR) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Self { lines, bar, here: Mutex::default() }
    }

    /// Hides the bar while something else writes.
    pub(super) fn around<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn line(&self, line: String) {
        // Nobody listens any more once the pull has ended.
        let _ = self.lines.send(line);
    }

    fn advance(&self, blob: &Digest, bytes: u64) {
        let Some(bar) = &self.bar else { return };
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.insert(blob.clone(), bytes);
        bar.set_position(here.values().sum());
    }
}

impl Progress for Display {
    fn report(&self, event: Event<'_>) {
        match event {
            Event::SourceFailed { source, error } => {
                let why = plain(&error.to_string());
                self.line(format!("{} {source}: {why}", paint(WARNING, "skipping")));
            }
            Event::SourceChosen { source, .. } => self.line(format!("from {source}")),
            Event::Planned { bytes, .. } => {
                if let Some(bar) = &self.bar {
                    bar.set_length(bytes);
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
            }
            Event::Here { blob, bytes } => self.advance(blob, bytes),
            Event::Interrupted { blob, cause } => {
                let why = plain(&cause.to_string());
                self.line(format!("{} {}: {why}", paint(WARNING, "retrying"), short(blob)));
            }
            Event::Done { blob, size, reused } => {
                self.advance(blob, size);
                if self.bar.is_none() {
                    let how = if reused { "was here" } else { "fetched" };
                    self.line(format!("{how} {} {}", short(blob), HumanBytes(size)));
                }
            }
            _ => {}
        }
    }
}

/// The beginning of a digest, long enough to tell blobs apart.
fn short(digest: &Digest) -> &str {
    let hex = digest.hex();
    hex.get(..12).unwrap_or(hex)
}
