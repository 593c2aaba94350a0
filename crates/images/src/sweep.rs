//! Removes old credentials: files that a killed service left, and files that no pull claimed.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pullwright_handover::{Bounds, Handover};

use crate::metrics::Metrics;
use crate::options::Options;
use crate::report::{Level, report};

/// How often to check. Plugins have their own sweeper, which checks when a file is due.
const EVERY: Duration = Duration::from_mins(1);

/// Sweeps at once and then every minute. If the process that listened here before us is dead, the first sweep empties
/// `in-use/`: nothing there is in use.
pub(crate) async fn run(options: Options, metrics: Arc<Metrics>, predecessor_lives: bool) {
    let kept = options.bounds;
    let mut bounds = kept;
    if !predecessor_lives {
        bounds.sweep.in_use = Duration::ZERO;
    }
    loop {
        let (options, metrics) = (options.clone(), metrics.clone());
        let swept = tokio::task::spawn_blocking(move || sweep(&options, bounds, &metrics));
        let _ = swept.await;
        bounds = kept;
        tokio::time::sleep(EVERY).await;
    }
}

fn sweep(options: &Options, bounds: Bounds, metrics: &Metrics) {
    let swept = Handover::open(&options.auth_dir, &options.lock_dir, bounds)
        .map_err(|error| error.to_string())
        .and_then(|handover| handover.sweep_once(SystemTime::now()).map_err(|error| error.to_string()));
    match swept {
        Ok(swept) => {
            metrics.swept(swept.removed.len());
            for removed in &swept.removed {
                report(
                    Level::Info,
                    format_args!(
                        "removed {}, which had stood for {} s",
                        removed.path.display(),
                        removed.stood.as_secs()
                    ),
                );
            }
            for error in &swept.failed {
                report(Level::Error, format_args!("{error}"));
            }
        }
        Err(error) => {
            report(Level::Error, format_args!("cannot look for auth files that stood too long: {error}"));
        }
    }
}
