//! The service's log: lines on standard error, which systemd passes to the journal.

use std::fmt::Arguments;
use std::io::Write as _;
use std::sync::OnceLock;

/// The severity of a line, as a syslog number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Error = 3,
    Warning = 4,
    Info = 6,
}

/// Writes one line. It must hold no secret, and text that others wrote must be quoted.
pub(crate) fn report(level: Level, line: Arguments<'_>) {
    static FOR_JOURNAL: OnceLock<bool> = OnceLock::new();
    let for_journal = *FOR_JOURNAL.get_or_init(|| std::env::var_os("JOURNAL_STREAM").is_some());
    let text = if for_journal {
        format!("<{}>{line}\n", level as u8)
    } else {
        format!("pullwright-images: {line}\n")
    };
    // A closed standard error is no reason to stop.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
