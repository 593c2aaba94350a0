//! Reads a node's files for the engine: from this machine, or from a node's file system mounted anywhere.
//!
//! The engine says which files matter and what they mean; this crate only opens them. Below another root,
//! absolute paths and symbolic links are those of the node: a link to `/etc/x` leads to `ROOT/etc/x` and
//! none leads out of `ROOT`.

mod certs_d;
mod crio;
mod registries;
mod root;
mod text;

pub use certs_d::RegistryFolder;
pub use crio::CrioLoadError;
pub use registries::LoadError;
pub use root::NodeRoot;
pub use text::{NotUtf8, text};
