//! Any document is a provider configuration or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_engine::kubelet::{ConfigFile, CredentialProviderConfig};

fuzz_target!(|data: &[u8]| {
    if let Ok(config) = CredentialProviderConfig::load(&[ConfigFile { path: "/a.json", json: data }]) {
        let _ = config.invoked("docker.io/library/nginx");
    }
});
