//! Images in memory, for the stand-in registry.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// An image: the content of its blobs, and its description.
#[derive(Debug, Clone)]
pub struct Image {
    /// The layers; their content does not matter.
    pub layers: Vec<Vec<u8>>,
    /// The processor architecture, by its Go name.
    pub architecture: &'static str,
    /// Whether the manifest is in Docker's format.
    pub docker: bool,
}

impl Image {
    /// An image in OCI's format for this machine's processor.
    #[must_use]
    pub fn new(layers: Vec<Vec<u8>>) -> Self {
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        Self { layers, architecture, docker: false }
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> Vec<u8> {
        let layers: Vec<String> = self.layers.iter().map(|layer| digest(layer)).collect();
        json!({
            "architecture": self.architecture,
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": layers},
        })
        .to_string()
        .into_bytes()
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> Vec<u8> {
        let (config, layer) = if self.docker {
            (
                "application/vnd.docker.container.image.v1+json",
                "application/vnd.docker.image.rootfs.diff.tar.gzip",
            )
        } else {
            ("application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar")
        };
        let layers: Vec<Value> = self.layers.iter().map(|content| descriptor(layer, content)).collect();
        json!({
            "schemaVersion": 2,
            "mediaType": self.media_type(),
            "config": descriptor(config, &self.config()),
            "layers": layers,
        })
        .to_string()
        .into_bytes()
    }

    pub(super) fn media_type(&self) -> &'static str {
        if self.docker {
            "application/vnd.docker.distribution.manifest.v2+json"
        } else {
            "application/vnd.oci.image.manifest.v1+json"
        }
    }

    /// The entry of the image in an index.
    pub(super) fn listed(&self) -> Value {
        let mut entry = descriptor(self.media_type(), &self.manifest());
        entry["platform"] = json!({"os": "linux", "architecture": self.architecture});
        entry
    }
}

/// The SHA-256 digest of a blob.
#[must_use]
pub fn digest(content: &[u8]) -> String {
    format!("sha256:{:x}", Sha256::digest(content))
}

fn descriptor(media_type: &str, content: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": digest(content), "size": content.len()})
}
