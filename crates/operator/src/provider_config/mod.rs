//! What becomes of `CRIOCredentialProviderConfig`: for which images the kubelet asks the plugin.

mod plan;
mod platform;
#[cfg(test)]
mod tests;

pub use plan::{Conflict, InvalidEntry, PluginSettings, ProviderEntries, WhyInvalid, entries, provider_file};
pub use platform::Platform;
