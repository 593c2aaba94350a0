//! The kubelet's part: runs the plugin with a request for a Pod's image, and reads its answer strictly.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use pullwright_engine::credentials::Sensitive;
use pullwright_engine::kubelet::{ApiVersion, Request, Response};
use pullwright_engine::reference::{Dialect, Reference};

use crate::scene::{IMAGE, Scene, token};

/// What the plugin said to whom.
pub(crate) struct Said {
    pub(crate) answer: Response,
    pub(crate) line: String,
}

pub(crate) fn ask(plugin: &Path, scene: &Scene, namespace: &str) -> Result<Said> {
    let image = Reference::parse(Dialect::Kubelet, IMAGE)?;
    let request = Request::on_behalf_of(Sensitive::new(token(namespace)), [].into(), image.name());
    let mut child = Command::new(plugin)
        .arg("--registries-conf")
        .arg(&scene.registries_conf)
        .arg("--auth-dir")
        .arg(&scene.auth_dir)
        .arg("--lock-dir")
        .arg(&scene.lock_dir)
        .arg("--server")
        .arg(scene.api_server.url())
        .arg("--certificate-authority")
        .arg(&scene.authority)
        // On a busy machine this demo may be slower than a runtime.
        .args(["--remove-unclaimed-after", "60"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {}", plugin.display()))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(request.render().as_bytes()).context("handing the request to the plugin")?;
    }
    let output = child.wait_with_output().context("waiting for the plugin")?;
    let line = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if !output.status.success() {
        bail!("the plugin failed ({}): {line}", output.status);
    }
    Ok(Said { answer: Response::parse(&output.stdout, ApiVersion::V1)?, line })
}
