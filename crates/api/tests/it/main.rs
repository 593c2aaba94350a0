//! The files below `deploy` are what the types say, the types need little, and their runtimes are those of the table.

#![expect(clippy::unwrap_used, reason = "a test says no by a panic")]

mod access;
mod crds;
mod dependencies;
mod deployment;
mod runtimes;
