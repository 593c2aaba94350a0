//! The table of runtimes from outside, as the command line and an agent use it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod made_up_runtime;
mod table;
