//! The controller of `CRIOCredentialProviderConfig`: for which images the kubelet asks the plugin.

mod plan;
#[cfg(test)]
mod tests;

pub use plan::{Conflict, InvalidEntry, ProviderConfigPlan, WhyInvalid, plan};
