//! Stand-ins in this process: a registry and a small Kubernetes API server, with a log of all accesses and with fault
//! injection.
//!
//! They do what real programs cannot be made to do at will: break off in the middle, lie about a digest, never answer. Other
//! tests, with the real programs, show that those behave like the stand-ins when nothing is broken.

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
