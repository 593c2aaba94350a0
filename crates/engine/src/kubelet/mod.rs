//! The kubelet's side of a pull: when it runs a credential provider, the request and the answer, and which credentials it
//! then tries in which order.
//!
//! Everything here follows the kubelet (1.36), even where it is surprising; [`lint`] reports the surprises.

/// The name of our plugin in the kubelet's configuration, which is also that of its executable. Its answers must not be cached: it
/// hands credentials to the runtime in a file, for one pull.
pub const PLUGIN: &str = "crio-credential-provider";

pub mod config;
mod decode;
pub mod exec;
mod header;
mod keyring;
mod label_key;
pub mod lint;
mod matching;
mod namespace;
mod overlap;
pub mod token;
mod validate;

pub use config::{
    ConfigError, ConfigFile, CredentialProviderConfig, Provider, TokenAttributes, TokenCacheType,
};
pub use decode::{DecodeError, StrictFault, TypeFault};
pub use exec::{ApiVersion, Request, Response};
pub use header::HeaderError;
pub use keyring::{Hit, Keyring};
pub use matching::ImagePattern;
pub use namespace::{Namespace, NotANamespace};
pub use token::Claims;
pub use validate::Violation;
