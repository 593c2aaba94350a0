//! CRI-O's part: claims the auth file of the Pod's namespace, pulls by `registries.conf` with it, and removes it.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use pullwright_engine::credentials::AuthFile;
use pullwright_engine::kubelet::Namespace;
use pullwright_engine::reference::{Dialect, Reference};
use pullwright_engine::registries::LoaderEnv;
use pullwright_handover::{AuthFileName, AuthFolder};
use pullwright_nodefiles::NodeRoot;
use pullwright_registry::{
    Client, Layout, Options, Platforms, PullError, Pulled, Quiet, Request, Roots, Source, certificates,
};

use crate::scene::{IMAGE, Scene};

/// A pull that was tried.
pub(crate) struct Tried {
    /// Where the claimed file was, if there was one.
    pub(crate) claimed: Option<PathBuf>,
    pub(crate) pulled: Result<Pulled, PullError>,
}

pub(crate) fn pull(scene: &Scene, namespace: &str) -> Result<Tried> {
    let reference = Reference::parse(Dialect::Runtime, IMAGE)?;
    let namespace: Namespace = namespace.parse()?;
    let folder = AuthFolder::open(&scene.auth_dir)?;
    let claim = folder.claim(&AuthFileName::new(&namespace, reference.name())?)?;
    let auth_file = match &claim {
        Some(claim) => AuthFile::parse(&claim.read()?)?,
        None => AuthFile::missing(),
    };

    let loader = LoaderEnv { conf: Some(scene.registries_conf.clone()), ..LoaderEnv::default() };
    let registries = NodeRoot::this_machine().registries(&loader)?;
    let sources = registries.pull_sources(&reference)?;
    let sources: Vec<_> = sources.iter().map(|source| Source::with_auth_file(source, &auth_file)).collect();

    let authority = std::fs::read(&scene.authority).context("reading the certificate authority")?;
    let options =
        Options { roots: Roots::OnlyGiven, authorities: certificates(&authority)?, ..Options::default() };
    let client = Client::new(options)?;
    let layout = Layout::open(&scene.layouts.join(namespace.as_str()))?;
    let request = Request { name: IMAGE, sources: &sources, platforms: Platforms::default() };
    let worker =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting a worker")?;
    let pulled = worker.block_on(client.pull(&request, &layout, &Quiet));
    let claimed = claim.as_ref().map(|claim| claim.path().to_owned());
    if let Some(claim) = claim {
        claim.release()?;
    }
    Ok(Tried { claimed, pulled })
}
