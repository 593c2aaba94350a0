//! Logs as JSON on standard error, a line for each event.

use std::str::FromStr;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// How much to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// What failed.
    Error,
    /// Also what needs a look.
    Warn,
    /// Also what was done.
    Info,
    /// Also what the libraries do.
    Debug,
}

impl FromStr for LogLevel {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "error" => Ok(Self::Error),
            "warn" => Ok(Self::Warn),
            "info" => Ok(Self::Info),
            "debug" => Ok(Self::Debug),
            _ => Err(()),
        }
    }
}

/// Begins to log what the crate `target` reports.
pub fn log(target: &'static str, level: LogLevel) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    // The libraries report each failure once more in their own words; that helps only those who look for a mistake in them.
    let targets = Targets::new().with_target(target, level);
    let targets = if level == LevelFilter::DEBUG { targets.with_default(level) } else { targets };
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines.with_filter(targets)).init();
}
