//! K3s and RKE2: `registries.yaml`, from which they write the `hosts.toml` of their containerd.

mod endpoint;
mod read;
mod render;
mod rewrite;
mod value;

pub use read::{ReadError, Registries};
#[cfg(test)]
pub(super) use render::File;
pub use render::{Rendered, render};
