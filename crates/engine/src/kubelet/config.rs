//! The kubelet's `CredentialProviderConfig`: which provider runs for which images, and how.

use std::collections::BTreeSet;

use thiserror::Error;

use super::decode::{DecodeError, decode};
use super::exec::ApiVersion;
use super::matching::ImagePattern;
use super::validate::{Violation, summary, validate};
use crate::credentials::Sensitive;
use pullwright_golang::duration::Duration;
use pullwright_golang::quote::quote;
use pullwright_golang::url::Url;

/// A configuration that the kubelet accepts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CredentialProviderConfig {
    /// The providers, in the order in which the kubelet asks them.
    pub providers: Vec<Provider>,
}

/// One credential provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The name, which is also the name of the executable in the kubelet's folder.
    pub name: String,
    /// The images for which it runs: one matching pattern is enough.
    pub match_images: Vec<ImagePattern>,
    /// How long to cache an answer that does not set a duration itself; never negative.
    pub default_cache_duration: Duration,
    /// The version of the protocol.
    pub api_version: ApiVersion,
    /// The arguments.
    pub args: Vec<String>,
    /// Environment variables beyond the kubelet's own.
    pub env: Vec<EnvVar>,
    /// Whether and how it gets the pod's service account token.
    pub token_attributes: Option<TokenAttributes>,
}

/// An environment variable of a provider. Its value is often a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvVar {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Sensitive,
}

/// How a provider gets service account tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenAttributes {
    /// The audience of the token.
    pub audience: String,
    /// Which pulls share a cached answer.
    pub cache_type: TokenCacheType,
    /// Whether to skip the provider for a pod without a service account; otherwise it runs without a token.
    pub require_service_account: bool,
    /// Annotations without which the provider is skipped.
    pub required_annotation_keys: Vec<String>,
    /// Annotations that are passed on if they exist.
    pub optional_annotation_keys: Vec<String>,
}

/// Which pulls share a cached answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenCacheType {
    /// All pods of a service account.
    ServiceAccount,
    /// All pulls with the same token, which are those of one pod.
    Token,
}

/// A configuration file.
#[derive(Debug, Clone, Copy)]
pub struct ConfigFile<'a> {
    /// The path, for error messages.
    pub path: &'a str,
    /// The content as JSON. YAML must first be converted to JSON with sorted keys, as the kubelet does.
    pub json: &'a [u8],
}

/// The reason why the kubelet would not start with a configuration, in its words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The folder has no file that the kubelet reads.
    #[error("no configuration files found in directory {}", quote(.0))]
    NoFiles(String),
    /// The file cannot be read as a configuration.
    #[error("error decoding config {}: {source}", quote(.path))]
    Decode {
        /// The file.
        path: String,
        /// The reason.
        source: DecodeError,
    },
    /// A name occurs twice, in one file or in several.
    #[error("duplicate provider name {} found in configuration file(s)", quote(.0))]
    DuplicateName(String),
    /// Some values break the rules.
    #[error("failed to validate credential provider config: {}", summary(.0))]
    Invalid(Vec<Violation>),
}

/// Returns those files of a configuration folder that the kubelet reads, in its order.
///
/// The caller must leave out subfolders. Files such as `.json` or `.hidden.yaml` are included.
pub fn config_files<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let counts = |name: &&str| matches!(name.rsplit_once('.'), Some((_, "json" | "yaml" | "yml")));
    let mut names: Vec<_> = names.into_iter().filter(counts).collect();
    names.sort_unstable();
    names
}

impl CredentialProviderConfig {
    /// Reads one file, or those of a folder in order, and checks them by the rules of a kubelet with default feature gates.
    ///
    /// # Errors
    /// If the kubelet refuses the configuration.
    pub fn load(files: &[ConfigFile<'_>]) -> Result<Self, ConfigError> {
        let mut decoded = Vec::new();
        for file in files {
            let providers = decode(file.json)
                .map_err(|source| ConfigError::Decode { path: file.path.to_owned(), source })?;
            decoded.extend(providers);
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = decoded.iter().find(|provider| !names.insert(&provider.name)) {
            return Err(ConfigError::DuplicateName(twice.name.clone()));
        }
        validate(decoded).map_err(ConfigError::Invalid)
    }

    /// Returns the providers that the kubelet runs for an image, a name without tag and digest, each with its first matching
    /// pattern.
    #[must_use]
    pub fn invoked<'a>(&'a self, image: &str) -> Vec<(&'a Provider, &'a ImagePattern)> {
        let Ok(image) = Url::parse_schemeless(image) else {
            return Vec::new();
        };
        let pattern = |provider: &'a Provider| provider.match_images.iter().find(|it| it.matches_url(&image));
        self.providers.iter().filter_map(|provider| Some((provider, pattern(provider)?))).collect()
    }
}

#[cfg(test)]
mod tests;
