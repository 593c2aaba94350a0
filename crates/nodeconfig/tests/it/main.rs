//! The table of runtimes from outside, as the command line and an agent use it.

mod made_up_runtime;
mod table;
