//! How many runs of the plugin ended in which way, on one node.
//!
//! The plugin is a process for each pull, so nobody can ask it for counters. Instead, each run adds one byte to a file that is named
//! by the reason for its end, and the size of that file is the count:
//!
//! ```text
//! /run/pullwright/outcomes/     0700, made by the node agent
//!     wrote-file                0600, one byte for each run
//!     forbidden
//! ```
//!
//! Adding a byte to the end of a file needs no lock, and runs that are killed leave nothing half done. Without the folder nothing
//! is counted, and a file ends at [`FILE_MAX`] if nobody reads: what a run costs, and what is kept, has a bound.

mod count;
mod counts;
mod reason;

pub use count::count;
pub use counts::Counts;
pub use reason::Reason;

/// Where the counts are.
pub const DEFAULT_FOLDER: &str = "/run/pullwright/outcomes";

/// The size at which a file is no longer added to.
pub const FILE_MAX: u64 = 1 << 20;
