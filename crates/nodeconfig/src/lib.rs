//! What container runtimes read on a node, as values: which files there are, how to render them from mirror sets, what
//! changes when they replace the files of a node, and what to reload afterwards.
//!
//! ```text
//! mirror sets, Image/cluster ──► engine::mirrors::merge ──► Runtime::render_objects ──► Rendering (NodeFile …)
//! files of a node ──► CurrentFiles ──► Runtime::parse ──► RuntimeState::changes ──► FileChange …, Runtime::reload_for
//! ```
//!
//! The crate does no I/O: callers read and write the files. The command line, the operator and the node agent share it.
//!
//! To add a runtime, write one module like [`k3s`] with a [`Runtime`] in it, and add that to [`RUNTIMES`]. Callers handle
//! [`Layout`]s, not runtimes, so nothing else changes.

mod change;
pub mod containerd;
pub mod crio;
mod current;
mod endpoints;
mod file;
pub mod k3s;
pub mod kubelet;
mod rendering;
mod runtime;

pub use change::{ConfigChange, FileChange, RegistryChange};
pub use current::{CurrentFile, CurrentFiles, NodeFileError, RuntimeState};
pub use endpoints::{AskedEndpoint, EndpointsChange};
pub use file::{CONFIG_MODE, NodeFile, is_ours};
pub use rendering::Rendering;
pub use runtime::{Layout, RUNTIMES, Reload, Runtime, any_usable};
