//! Decides which files a node needs for a configuration. No I/O.
//!
//! The order is the one in which they are written: what others refer to comes first, and the kubelet's flags come last.

mod check;

use std::path::{Path, PathBuf};

use pullwright_api::{NodeConfigurationSpec, NodeRuntime};
use pullwright_documents::Unreadable;
use pullwright_engine::containerd::CERTS_D;
use pullwright_engine::kubelet::ConfigError;
use pullwright_nodeconfig::kubelet::{
    HEADER, PlacementError, ProviderPlacement, ProvidersError, UnitError, flags_drop_in, merge_providers,
    placement, starts_after,
};
use pullwright_nodeconfig::{NodeFileError, containerd};
use thiserror::Error;

use self::check::{check_files, check_providers, first_document, is_about_registries};
use crate::facts::{ExistingProviders, KubeletFacts, KubeletService, NodeFacts};
use crate::layout;
use crate::programs::Programs;
use crate::transaction::{InvalidFile, WantedFile};

/// The unit that is shipped for people. It is the same here, but for the path of the program.
const IMAGES_UNIT_TEXT: &str = include_str!("../../../deploy/images/pullwright-images.service");
const SHIPPED_PROGRAM: &str = "/usr/local/bin/pullwright-images";
/// Where containerd listens if the kubelet does not say otherwise.
const CONTAINERD_SOCKET: &str = "/run/containerd/containerd.sock";
const K3S_SOCKET: &str = "/run/k3s/containerd/containerd.sock";
const K3S_CERTS_D: &str = "/var/lib/rancher/k3s/agent/etc/containerd/certs.d";
const CONFIG: u32 = 0o644;
const PROGRAM: u32 = 0o755;

/// Why a node cannot have a configuration.
#[derive(Debug, Error)]
pub enum PlanError {
    /// It is for nodes with another runtime.
    #[error("the configuration is for nodes with {wanted}, and this node has {found}")]
    Runtime {
        /// The configuration's.
        wanted: &'static str,
        /// The node's.
        found: &'static str,
    },
    /// Nobody looked at the kubelet, which gets a provider.
    #[error("the configuration has a credential provider, and nothing is known about the node's kubelet")]
    NoKubelet,
    /// A file cannot be part of a configuration.
    #[error(transparent)]
    File(#[from] InvalidFile),
    /// A file is none that a configuration can bring. Whoever can write configurations is not to own the nodes by it.
    #[error("{path:?} is not a file about registries: a configuration can bring only those, and no programs")]
    Outside {
        /// The file.
        path: String,
    },
    /// The runtime would not accept a file.
    #[error("the runtime would refuse the file: {0}")]
    Refused(#[from] NodeFileError),
    /// containerd would not accept a file.
    #[error("containerd would ignore {path}: {why}")]
    Hosts {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// It is not YAML.
    #[error("{path} is not YAML: {}", why.message)]
    Yaml {
        /// The file.
        path: String,
        /// Why.
        why: Unreadable,
    },
    /// The kubelet would not start with the providers.
    #[error("the kubelet would not start: {0}")]
    Providers(#[from] ConfigError),
    /// There is no place for the provider configuration.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// Providers of others cannot be kept beside ours.
    #[error("{path}: {source}")]
    Merge {
        /// Their file.
        path: PathBuf,
        /// Why.
        source: ProvidersError,
    },
    /// The kubelet's flags cannot be set.
    #[error("the kubelet's unit: {0}")]
    Unit(#[from] UnitError),
    /// Somebody else's service is where ours belongs.
    #[error(
        "the kubelet gets its images from {endpoint}, so it cannot get them from pullwright-images: set the kubelet's \
         imageServiceEndpoint to nothing, or leave the credential provider out of the configuration"
    )]
    ImageService {
        /// Where it gets them from.
        endpoint: String,
    },
}

/// The files that a node needs, in the order in which they are written. Everything is checked before: a node never gets a file that its
/// reader would refuse.
///
/// # Errors
/// If the configuration does not fit this node, or is not valid.
pub fn plan(
    spec: &NodeConfigurationSpec,
    facts: &NodeFacts,
    programs: Programs,
) -> Result<Vec<WantedFile>, PlanError> {
    if spec.runtime != facts.runtime {
        return Err(PlanError::Runtime { wanted: spec.runtime.name(), found: facts.runtime.name() });
    }
    check_files(spec)?;
    let mut files = Vec::new();
    for file in &spec.files {
        if !is_about_registries(spec.runtime, file) {
            return Err(PlanError::Outside { path: file.path.clone() });
        }
        let path = on_this_node(&file.path, facts)?;
        let mode = u32::try_from(file.mode).unwrap_or(u32::MAX);
        files.push(WantedFile::new(&path, mode, file.content.as_str())?);
    }
    let Some(ours) = &spec.credential_provider_config else {
        return Ok(files);
    };
    let kubelet = facts.kubelet.as_ref().ok_or(PlanError::NoKubelet)?;
    let with_images = spec.runtime != NodeRuntime::Crio;
    if let Some(endpoint) = kubelet.other_image_service().filter(|_| with_images) {
        return Err(PlanError::ImageService { endpoint: endpoint.to_owned() });
    }
    let provider = Provider::place(ours, kubelet)?;
    let plugin = provider.bin_dir.join(layout::PLUGIN);
    files.push(WantedFile::new(&plugin.to_string_lossy(), PROGRAM, programs.plugin)?);
    if with_images {
        files.push(WantedFile::new(layout::IMAGES_PROGRAM, PROGRAM, programs.images)?);
        files.push(WantedFile::new(layout::IMAGES_UNIT_FILE, CONFIG, images_unit(facts, kubelet))?);
    }
    for (path, text) in provider.files {
        files.push(WantedFile::new(&path.to_string_lossy(), CONFIG, text)?);
    }
    let mut flags = provider.flags;
    // Tickets and auth files are for one pull each: pulls that wait for each other would let them grow old.
    if kubelet.settings.serialize_image_pulls {
        flags.push("--serialize-image-pulls=false".to_owned());
    }
    if with_images {
        flags.push(format!("--image-service-endpoint={}", layout::IMAGES_ENDPOINT));
    }
    files.extend(kubelet_files(&kubelet.service, &flags, with_images.then_some(layout::IMAGES_UNIT))?);
    Ok(files)
}

/// Where a file of the configuration belongs on this node: containerd may have its `certs.d` elsewhere.
fn on_this_node(path: &str, facts: &NodeFacts) -> Result<String, PlanError> {
    let Ok(in_certs_d) = Path::new(path).strip_prefix(CERTS_D) else { return Ok(path.to_owned()) };
    if let Some(finding) = facts.containerd.findings.first() {
        let help = finding.help.as_deref().unwrap_or_default();
        let why = format!("{}; {help}, and restart containerd", finding.message);
        return Err(PlanError::Hosts { path: path.to_owned(), why });
    }
    Ok(facts.containerd.certs_d.join(in_certs_d).to_string_lossy().into_owned())
}

/// The provider configuration on this node.
struct Provider {
    files: Vec<(PathBuf, String)>,
    bin_dir: PathBuf,
    flags: Vec<String>,
}

impl Provider {
    fn place(ours: &str, kubelet: &KubeletFacts) -> Result<Self, PlanError> {
        let place = placement(&kubelet.command, kubelet.providers.form(kubelet.version))?;
        let theirs = match &kubelet.providers {
            ExistingProviders::File(text) => Some(text.as_str()),
            ExistingProviders::None | ExistingProviders::Folder => None,
        };
        let ours = || ours.to_owned();
        let provider = match place {
            ProviderPlacement::New { file, bin_dir, flags } => {
                Self { files: vec![(file, ours())], bin_dir, flags }
            }
            ProviderPlacement::Beside { file, bin_dir } => {
                Self { files: vec![(file, ours())], bin_dir, flags: Vec::new() }
            }
            // A copy in place of the link: the journal can restore files only, and a plan that is made again finds what they changed.
            ProviderPlacement::Linked { link: (copy, _), file, bin_dir, flags } => {
                let files = vec![(copy, theirs.unwrap_or_default().to_owned()), (file, ours())];
                Self { files, bin_dir, flags }
            }
            ProviderPlacement::Within { file, bin_dir } => {
                let merged = merged(&file, theirs.unwrap_or_default(), &ours())?;
                Self { files: vec![(file, merged)], bin_dir, flags: Vec::new() }
            }
        };
        check_providers(&provider.files)?;
        Ok(provider)
    }
}

/// Their providers with ours behind them, as JSON, which is YAML too.
fn merged(file: &Path, theirs: &str, ours: &str) -> Result<String, PlanError> {
    let theirs = first_document(file, theirs)?;
    let ours = first_document(Path::new("the configuration"), ours)?;
    let merged = merge_providers(&theirs, &ours)
        .map_err(|source| PlanError::Merge { path: file.to_owned(), source })?;
    Ok(format!("{merged:#}\n"))
}

/// The unit of the image service on this node.
fn images_unit(facts: &NodeFacts, kubelet: &KubeletFacts) -> String {
    let (socket, certs_d) = match facts.runtime {
        NodeRuntime::K3s => (K3S_SOCKET, Path::new(K3S_CERTS_D)),
        NodeRuntime::Crio | NodeRuntime::Containerd => {
            (CONTAINERD_SOCKET, facts.containerd.certs_d.as_path())
        }
    };
    let socket = kubelet.runtime_socket().unwrap_or(Path::new(socket));
    let environment = format!(
        "Environment=PULLWRIGHT_IMAGES_CONTAINERD={}\nEnvironment=PULLWRIGHT_IMAGES_CERTS_D={}\n\
         Environment=PULLWRIGHT_IMAGES_AUTH_DIR={}\n",
        socket.display(),
        certs_d.display(),
        containerd::AUTH_FOLDER
    );
    let text = IMAGES_UNIT_TEXT.replace(SHIPPED_PROGRAM, layout::IMAGES_PROGRAM);
    // The kubelet's drop-in wants the unit, so that enabling it, which makes links that nobody restores, is not needed.
    let text = text.split("\n[Install]").next().unwrap_or(&text).trim_end();
    let comments = text.lines().take_while(|line| line.starts_with('#')).count();
    // Its folder for credentials is below its runtime directory.
    let kept = |line: &&str| !line.starts_with("ConfigurationDirectory");
    let lines: Vec<_> = text.lines().skip(comments).filter(kept).collect();
    format!("{HEADER}\n{}\n", lines.join("\n"))
        .replace("\nRestart=always", &format!("\n{environment}Restart=always"))
}

/// The files that give the kubelet its flags.
fn kubelet_files(
    service: &KubeletService,
    flags: &[String],
    needed: Option<&str>,
) -> Result<Vec<WantedFile>, PlanError> {
    let mut files = Vec::new();
    match service {
        KubeletService::Unit(unit) if !flags.is_empty() => {
            let text = flags_drop_in(unit, flags, needed)?;
            files.push(WantedFile::new(layout::KUBELET_DROP_IN, CONFIG, text)?);
        }
        KubeletService::Unit(_) => {}
        KubeletService::K3s(unit) => {
            if let Some(needed) = needed {
                let path = layout::k3s_unit_drop_in(unit);
                files.push(WantedFile::new(&path, CONFIG, starts_after(needed))?);
            }
            // The plus sign adds to what the administrator set.
            let arguments = flags.iter().map(|flag| format!("  - {}\n", flag.trim_start_matches('-')));
            let text = format!("{HEADER}\nkubelet-arg+:\n{}", arguments.collect::<String>());
            files.push(WantedFile::new(layout::K3S_DROP_IN, CONFIG, text)?);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
