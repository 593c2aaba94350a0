//! Asks the kubelet of this node how it is: whether it serves, and which credential provider configuration it runs with.

mod endpoint;
mod exposition;
mod hash;
mod pins;

pub use endpoint::{EndpointError, KubeletEndpoint, healthz};
pub use hash::{ConfigHash, is_configuration};
pub use pins::{NoPin, Pins};
