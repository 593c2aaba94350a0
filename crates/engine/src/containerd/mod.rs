//! containerd's mirrors: reads `certs.d/*/hosts.toml` as containerd 2 does, and translates `registries.conf` into it.
//!
//! ```text
//! hosts.toml ──► HostsToml ──► CertsD (by host) ──► endpoints, in the order in which they are asked
//! ```

mod asked;
mod capability;
mod certs_d;
mod connections;
mod daemon;
mod decode;
mod disagreement;
mod forbidden;
mod hosts_toml;
mod import;
pub mod k3s;
mod lint;
mod order;
mod path;
mod plan;
mod problem;
mod render;
mod unsupported;

pub use capability::{Capabilities, Capability};
pub use certs_d::{
    By, CertsD, ContainerdEndpoint, DEFAULT_FOLDER, EndpointRole, Folder, HOSTS_TOML, folder_name,
    folder_names, host_of_folder,
};
pub use daemon::{CERTS_D, Daemon};
pub use disagreement::{Disagreement, disagreements};
pub use hosts_toml::{Host, HostsToml, Scheme};
pub use import::{Collected, Imported, import};
pub use problem::{HostsError, HostsProblem};
pub use render::{HEADER, Rendered, render};

#[cfg(test)]
mod tests;
