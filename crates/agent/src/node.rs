//! Reads the facts of a node from its files and from systemd.

use std::io;
use std::path::{Path, PathBuf};

use pullwright_api::NodeRuntime;
use pullwright_documents::Unreadable;
use pullwright_engine::containerd::Daemon;
use pullwright_nodeconfig::kubelet::{KubeletCommand, ServiceUnit};
use pullwright_nodefiles::NodeRoot;
use thiserror::Error;

use crate::facts::{
    ExistingProviders, KubeletFacts, KubeletService, KubeletSettings, KubeletVersion, NodeFacts, without_ours,
};
use crate::layout;
use crate::services::{ServiceError, Systemd, UnitState};

/// The units of which one has K3s in it.
pub(crate) const K3S_UNITS: [&str; 2] = ["k3s.service", "k3s-agent.service"];
/// Where K3s looks for providers by itself.
const K3S_PROVIDERS: (&str, &str) =
    ("/var/lib/rancher/credentialprovider/config.yaml", "/var/lib/rancher/credentialprovider/bin");
const CONTAINERD_CONFIG: &str = "/etc/containerd/config.toml";
/// More than any of these files has.
const MOST: u64 = 4 << 20;

/// Why nothing is known about a node.
#[derive(Debug, Error)]
pub enum FactsError {
    /// systemd does not answer.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// A file cannot be read.
    #[error("reading {path:?} on the node: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{path:?} is not a kubelet's configuration: {}", why.message)]
    Settings {
        /// The file.
        path: PathBuf,
        /// Why.
        why: Unreadable,
    },
    /// There is no kubelet that the agent could configure.
    #[error("no systemd unit {0} runs on the node: the agent needs a kubelet that systemd starts")]
    NoUnit(&'static str),
}

/// Reads what a configuration without a credential provider needs to know.
///
/// # Errors
/// If a file cannot be read.
pub fn read_node(root: &NodeRoot, runtime: NodeRuntime) -> Result<NodeFacts, FactsError> {
    let containerd = match (runtime, read(root, Path::new(CONTAINERD_CONFIG))) {
        (NodeRuntime::Containerd, Ok(text)) => Daemon::read(&text),
        (NodeRuntime::Containerd, Err(FactsError::Read { source, .. }))
            if source.kind() != io::ErrorKind::NotFound =>
        {
            return Err(FactsError::Read { path: CONTAINERD_CONFIG.into(), source });
        }
        // Without a file there is nothing to find wrong in it. K3s makes its own, and CRI-O has none.
        _ => Daemon::default(),
    };
    Ok(NodeFacts { runtime, containerd, kubelet: None })
}

/// Reads what is to know about the kubelet.
///
/// # Errors
/// If the kubelet does not run, or if its files cannot be read.
pub async fn read_kubelet(
    root: &NodeRoot,
    systemd: &Systemd,
    runtime: NodeRuntime,
    version: KubeletVersion,
) -> Result<KubeletFacts, FactsError> {
    let (service, command) = match runtime {
        NodeRuntime::K3s => k3s(root, systemd).await?,
        NodeRuntime::Crio | NodeRuntime::Containerd => kubelet(root, systemd).await?,
    };
    let settings = settings(root, &command)?;
    let providers = match &command.provider_config {
        None => ExistingProviders::None,
        Some(path) => match read(root, path) {
            Ok(text) => ExistingProviders::File(text),
            Err(FactsError::Read { source, .. }) if source.kind() == io::ErrorKind::IsADirectory => {
                ExistingProviders::Folder
            }
            Err(error) => return Err(error),
        },
    };
    Ok(KubeletFacts { version, command, settings, service, providers })
}

async fn kubelet(root: &NodeRoot, systemd: &Systemd) -> Result<(KubeletService, KubeletCommand), FactsError> {
    let state = systemd.show(layout::KUBELET_UNIT).await?;
    if !state.active || state.main_pid == 0 {
        return Err(FactsError::NoUnit(layout::KUBELET_UNIT));
    }
    let unit = unit(root, &state)?;
    let arguments = arguments(root, state.main_pid)?;
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    Ok((KubeletService::Unit(unit), KubeletCommand::parse(without_ours(&arguments))))
}

/// The arguments of a process, without its name.
pub(crate) fn arguments(root: &NodeRoot, pid: u32) -> Result<Vec<String>, FactsError> {
    let text = read(root, Path::new(&format!("/proc/{pid}/cmdline")))?;
    Ok(text.split('\0').skip(1).filter(|argument| !argument.is_empty()).map(str::to_owned).collect())
}

/// The unit without our own drop-in.
fn unit(root: &NodeRoot, state: &UnitState) -> Result<ServiceUnit, FactsError> {
    let files = state.files.iter().filter(|file| *file != Path::new(layout::KUBELET_DROP_IN));
    let files: Vec<_> = files.map(|file| read(root, file)).collect::<Result<_, _>>()?;
    Ok(ServiceUnit::read(files.iter().map(String::as_str)))
}

/// The unit with K3s in it, as systemd sees it; `None` if there is none.
pub(crate) async fn k3s_unit(systemd: &Systemd) -> Result<Option<(&'static str, UnitState)>, ServiceError> {
    for unit in K3S_UNITS {
        let state = systemd.show(unit).await?;
        if state.loaded {
            return Ok(Some((unit, state)));
        }
    }
    Ok(None)
}

async fn k3s(root: &NodeRoot, systemd: &Systemd) -> Result<(KubeletService, KubeletCommand), FactsError> {
    let running = k3s_unit(systemd).await?.filter(|(_, state)| state.active);
    let (unit, _) = running.ok_or(FactsError::NoUnit("k3s.service or k3s-agent.service"))?;
    let mut command = KubeletCommand::default();
    let (config, bin_dir) = K3S_PROVIDERS;
    let is_there = |path: &str| {
        root.exists(Path::new(path)).map_err(|source| FactsError::Read { path: path.into(), source })
    };
    if is_there(config)? && is_there(bin_dir)? {
        command.provider_config = Some(config.into());
        command.provider_bin_dir = Some(bin_dir.into());
    }
    Ok((KubeletService::K3s(unit.to_owned()), command))
}

pub(crate) fn settings(root: &NodeRoot, command: &KubeletCommand) -> Result<KubeletSettings, FactsError> {
    let mut paths: Vec<PathBuf> = command.config.iter().cloned().collect();
    if let Some(folder) = &command.config_dir {
        let failed = |source| FactsError::Read { path: folder.clone(), source };
        let mut names = root.list(folder).map_err(failed)?;
        names.retain(|name| Path::new(name).extension().is_some_and(|ending| ending == "conf"));
        names.sort_unstable();
        paths.extend(names.iter().map(|name| folder.join(name)));
    }
    let texts: Vec<_> = paths.iter().map(|path| read(root, path)).collect::<Result<_, _>>()?;
    let refused = |why| FactsError::Settings { path: paths.first().cloned().unwrap_or_default(), why };
    KubeletSettings::read(texts.iter().map(String::as_str)).map_err(refused)
}

fn read(root: &NodeRoot, path: &Path) -> Result<String, FactsError> {
    root.read_text_within(path, MOST).map_err(|source| FactsError::Read { path: path.to_owned(), source })
}
