//! What a node has without us, as far as a plan needs to know it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use pullwright_api::NodeRuntime;
use pullwright_documents::{Unreadable, documents};
use pullwright_engine::containerd::Daemon;
use pullwright_nodeconfig::kubelet::{ConfigForm, KubeletCommand, ServiceUnit};
use serde_json::Value;

use crate::layout;

/// The release since which kubelets read folders of provider configurations, and tell the hash of what they read.
pub(crate) const FOLDERS_SINCE: KubeletVersion = KubeletVersion { major: 1, minor: 34 };

/// A node as it would be without Pullwright.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its container runtime.
    pub runtime: NodeRuntime,
    /// containerd's own settings for mirrors, where it has any.
    pub containerd: Daemon,
    /// Its kubelet; `None` if nobody needs to know.
    pub kubelet: Option<KubeletFacts>,
}

/// A kubelet as it would be without Pullwright.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletFacts {
    /// Its release.
    pub version: KubeletVersion,
    /// Its flags, without ours.
    pub command: KubeletCommand,
    /// Its configuration files.
    pub settings: KubeletSettings,
    /// What starts it.
    pub service: KubeletService,
    /// What is at the path in its `--image-credential-provider-config`.
    pub providers: ExistingProviders,
}

/// A release of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KubeletVersion {
    /// 1 in `v1.36.3`.
    pub major: u32,
    /// 36 in `v1.36.3`.
    pub minor: u32,
}

/// What starts the kubelet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KubeletService {
    /// A unit of its own, `kubelet.service`.
    Unit(ServiceUnit),
    /// K3s, with the name of its unit: `k3s.service` or `k3s-agent.service`.
    K3s(String),
}

impl KubeletService {
    /// The unit to restart.
    #[must_use]
    pub fn unit(&self) -> &str {
        match self {
            Self::Unit(_) => layout::KUBELET_UNIT,
            Self::K3s(unit) => unit,
        }
    }
}

/// The provider configuration that a kubelet has without us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExistingProviders {
    /// None.
    None,
    /// A file with this text.
    File(String),
    /// A folder.
    Folder,
}

impl ExistingProviders {
    pub(crate) fn form(&self, version: KubeletVersion) -> ConfigForm {
        match self {
            Self::Folder => ConfigForm::Folder,
            _ if version >= FOLDERS_SINCE => ConfigForm::File,
            _ => ConfigForm::FileOnly,
        }
    }
}

impl KubeletVersion {
    /// Reads `v1.36.3`, also with what distributions append.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.strip_prefix('v').unwrap_or(text).split('.');
        let mut next = || {
            let digits = numbers.next()?;
            digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())].parse().ok()
        };
        Some(Self { major: next()?, minor: next()? })
    }
}

/// The flags of a running kubelet without those that we gave it.
pub(crate) fn without_ours<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let is_ours = |argument: &str| argument.split_once('=').is_some_and(|(_, value)| layout::is_own(value));
    arguments.iter().copied().filter(|argument| !is_ours(argument)).collect()
}

/// What the kubelet's configuration files say about pulls and about where it can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletSettings {
    /// Whether it pulls one image at a time.
    pub serialize_image_pulls: bool,
    /// Where the container runtime is.
    pub runtime_endpoint: Option<String>,
    /// Where its images come from, if that is somewhere else.
    pub image_service_endpoint: Option<String>,
    /// Where `/healthz` is; `None` if it is switched off.
    pub healthz: Option<SocketAddr>,
    /// The port of its API, on this machine.
    pub port: u16,
    /// The certificate that it serves with, if it does not make one itself.
    pub certificate: Option<PathBuf>,
}

impl KubeletSettings {
    /// Reads `--config` and the drop-ins behind it, which replace single values.
    ///
    /// # Errors
    /// If a file is not YAML.
    pub fn read<'a>(files: impl IntoIterator<Item = &'a str>) -> Result<Self, Unreadable> {
        let mut merged = serde_json::Map::new();
        for file in files {
            for document in documents(file)? {
                if let Value::Object(members) = document.value() {
                    merged.extend(members);
                }
            }
        }
        let text = |name: &str| {
            merged.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let number = |name: &str| merged.get(name).and_then(Value::as_u64);
        let port = |name: &str, default: u16| {
            number(name).map_or(default, |port| u16::try_from(port).unwrap_or(default))
        };
        // Several at a time are allowed as soon as a number of them is.
        let parallel = number("maxParallelImagePulls").is_some_and(|most| most >= 2);
        let serialize = merged.get("serializeImagePulls").and_then(Value::as_bool).unwrap_or(!parallel);
        let address = text("healthzBindAddress").and_then(|text| text.parse().ok());
        let address = address.filter(|address: &IpAddr| !address.is_unspecified());
        let healthz = port("healthzPort", 10248);
        Ok(Self {
            serialize_image_pulls: serialize,
            runtime_endpoint: text("containerRuntimeEndpoint"),
            image_service_endpoint: text("imageServiceEndpoint"),
            healthz: (healthz != 0)
                .then(|| SocketAddr::new(address.unwrap_or(Ipv4Addr::LOCALHOST.into()), healthz)),
            port: port("port", 10250),
            certificate: text("tlsCertFile").map(PathBuf::from),
        })
    }
}

impl KubeletFacts {
    /// The socket of the container runtime, as a path.
    pub(crate) fn runtime_socket(&self) -> Option<&Path> {
        let endpoint =
            self.command.runtime_endpoint.as_deref().or(self.settings.runtime_endpoint.as_deref())?;
        Some(Path::new(endpoint.strip_prefix("unix://").unwrap_or(endpoint)))
    }

    /// The image service that the kubelet asks without us, if it is not the runtime.
    pub(crate) fn other_image_service(&self) -> Option<&str> {
        let flag = self.command.image_service_endpoint.as_deref();
        flag.or(self.settings.image_service_endpoint.as_deref()).filter(|endpoint| !layout::is_own(endpoint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_distributions_are_read() {
        for (text, version) in [("v1.36.3", (1, 36)), ("v1.33.1+k3s1", (1, 33)), ("v1.34+", (1, 34))] {
            let read = KubeletVersion::parse(text).unwrap();
            assert_eq!((read.major, read.minor), version, "{text}");
        }
        assert_eq!(KubeletVersion::parse("unknown"), None);
        assert!(KubeletVersion { major: 1, minor: 33 } < FOLDERS_SINCE);
    }

    #[test]
    fn our_own_flags_do_not_count_as_the_nodes() {
        let running = [
            "--config=/var/lib/kubelet/config.yaml",
            "--image-credential-provider-config=/etc/eks/config.json",
            "--image-credential-provider-config=/etc/pullwright/credential-providers",
            "--image-service-endpoint=unix:///run/pullwright/images.sock",
        ];
        let command = KubeletCommand::parse(without_ours(&running));
        assert_eq!(command.provider_config.as_deref(), Some(Path::new("/etc/eks/config.json")));
        assert_eq!(command.image_service_endpoint, None);
    }

    #[test]
    fn later_files_replace_single_values() {
        let main = "serializeImagePulls: true\nhealthzPort: 10300\nhealthzBindAddress: 0.0.0.0\n";
        let settings = KubeletSettings::read([main, "serializeImagePulls: false\nport: 10251\n"]).unwrap();
        assert!(!settings.serialize_image_pulls);
        assert_eq!(settings.healthz, Some("127.0.0.1:10300".parse().unwrap()));
        assert_eq!(settings.port, 10251);
        let defaults = KubeletSettings::read(["kind: KubeletConfiguration\n"]).unwrap();
        assert!(defaults.serialize_image_pulls);
        assert_eq!(defaults.healthz, Some("127.0.0.1:10248".parse().unwrap()));
        assert!(!KubeletSettings::read(["maxParallelImagePulls: 5"]).unwrap().serialize_image_pulls);
        assert_eq!(KubeletSettings::read(["healthzPort: 0"]).unwrap().healthz, None);
    }
}
