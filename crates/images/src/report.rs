//! What the service says while it runs: lines on standard error, which systemd gives to the journal.

use std::fmt::Arguments;
use std::io::Write as _;
use std::sync::OnceLock;

/// How much a line matters, in syslog's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Error = 3,
    Warning = 4,
    Info = 6,
}

/// Writes one line. Nothing secret may be in it, and what others wrote must be quoted.
pub(crate) fn report(level: Level, line: Arguments<'_>) {
    static FOR_JOURNAL: OnceLock<bool> = OnceLock::new();
    let for_journal = *FOR_JOURNAL.get_or_init(|| std::env::var_os("JOURNAL_STREAM").is_some());
    let text = if for_journal {
        format!("<{}>{line}\n", level as u8)
    } else {
        format!("pullwright-images: {line}\n")
    };
    // A reader that is gone is no reason to stop.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
