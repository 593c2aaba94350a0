//! Stand-ins in this process: a registry and a small Kubernetes API server, with a log of who asked for what and faults to inject.
//!
//! They are for what real programs cannot be made to do at will: break off in the middle, lie about a digest, never answer. That
//! the real programs behave as these do when nothing is broken is shown elsewhere, with the real programs.

mod api_server;
mod fault;
mod http;
mod image;
mod protobuf;
mod registry;
mod server;
mod stream;

pub use api_server::{ApiServer, Rule};
pub use fault::{Fault, Trouble};
pub use image::{Image, digest};
pub use registry::{Login, Registry, Setup};
pub use server::Access;
