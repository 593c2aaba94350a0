//! containerd with a thousand images, and the service in front of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use pullwright_testkit::containerd::{Containerd, image_service};
use pullwright_testkit::process::Service;
use pullwright_testkit::standin::{Registry, Setup, digest};
use serde_json::json;
use tempfile::TempDir;

use super::caller::{Caller, pull};
use crate::usage;

/// Pulls at the same time while the images are brought in.
const PULLS: usize = 8;

pub(super) struct World {
    // In the order in which they end.
    service: Service,
    containerd: Containerd,
    registry: Registry,
    folder: TempDir,
}

impl World {
    pub(super) fn start(program: &Path) -> Result<Self> {
        let folder = tempfile::tempdir().context("a folder for the benchmark")?;
        let containerd = Containerd::start(folder.path())?;
        let command = image_service(program, folder.path())?;
        let mut service = Service::start("pullwright-images", command, folder.path())?;
        service.wait_for_log("serving on", Duration::from_mins(1))?;
        let registry = Registry::start(Setup::default())?;
        Ok(Self { service, containerd, registry, folder })
    }

    pub(super) fn containerd_socket(&self) -> PathBuf {
        self.containerd.socket()
    }

    pub(super) fn service_socket(&self) -> PathBuf {
        self.folder.path().join("images.sock")
    }

    /// The name of an image.
    pub(super) fn image(&self, at: usize) -> String {
        format!("{}/app:{at}", self.registry.address())
    }

    /// Brings images in that differ in their configuration only: one layer is unpacked once.
    pub(super) async fn pull_all(&self, caller: &Caller, count: usize) -> Result<()> {
        // The end of an archive, and so an empty one.
        let layer = vec![0; 1024];
        for at in 0..count {
            self.put(at, &layer);
        }
        for some in (0..count).collect::<Vec<_>>().chunks(PULLS) {
            let pulls: Vec<_> = some
                .iter()
                .map(|&at| {
                    let (caller, request) = (caller.clone(), pull(&self.image(at)));
                    tokio::spawn(async move { caller.call("PullImage", &request).await })
                })
                .collect();
            for pull in pulls {
                pull.await??;
            }
        }
        Ok(())
    }

    fn put(&self, at: usize, layer: &[u8]) {
        let config = json!({
            "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
            "os": "linux",
            "config": {"Labels": {"number": at.to_string()}},
            "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
        })
        .to_string();
        let described = |kind: &str, content: &[u8]| {
            let media_type = format!("application/vnd.oci.image.{kind}");
            json!({"mediaType": media_type, "digest": digest(content), "size": content.len()})
        };
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": media_type,
            "config": described("config.v1+json", config.as_bytes()),
            "layers": [described("layer.v1.tar", layer)],
        });
        self.registry.put_blob("app", layer);
        self.registry.put_blob("app", config.as_bytes());
        self.registry.put_manifest("app", Some(&at.to_string()), media_type, manifest.to_string().as_bytes());
    }

    /// The service's memory now, in bytes.
    pub(super) fn memory(&self) -> Result<u64> {
        usage::memory(self.service.id())
    }

    /// The most memory that it ever had, in bytes.
    pub(super) fn peak_memory(&self) -> Result<u64> {
        usage::peak_memory(self.service.id())
    }
}
