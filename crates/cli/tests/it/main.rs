//! The command line as a whole: transcripts, fixtures of lint, the streams, and that no password is ever printed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says no by a panic")]

mod docs;
mod import;
mod lint;
mod migrate;
mod no_secret;
mod program;
mod pull;
mod rbac;
mod render;
mod status;
mod streams;
mod transcripts;
