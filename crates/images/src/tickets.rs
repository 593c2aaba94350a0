//! Tells plugins that this process takes tickets, for as long as it lives.

use std::thread;

use pullwright_handover::Handover;

use crate::options::Options;
use crate::report::{Level, report};

/// Starts the announcement on its own thread, because it may have to wait for a predecessor that is still finishing its
/// pulls.
pub(crate) fn announce(options: &Options) {
    let options = options.clone();
    let begun = thread::Builder::new().name("tickets".to_owned()).spawn(move || say(&options));
    if let Err(error) = begun {
        not_taken(&error.to_string());
    }
}

fn say(options: &Options) {
    let handover = Handover::open(&options.auth_dir, &options.lock_dir, options.bounds);
    let taker = handover
        .map_err(|error| error.to_string())
        .and_then(|handover| handover.take_tickets().map_err(|error| error.to_string()));
    match taker {
        Ok(_taker) => loop {
            thread::park();
        },
        // Images that need no credential must still be pulled.
        Err(error) => not_taken(&error),
    }
}

fn not_taken(error: &str) {
    report(
        Level::Error,
        format_args!(
            "no tickets are taken, so pulls with credentials fail: {error}; mend it and restart this service"
        ),
    );
}
