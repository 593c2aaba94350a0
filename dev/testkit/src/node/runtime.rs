//! The container runtimes that a node can have.

use std::{fmt, path::Path, str::FromStr, time::Duration};

use crate::{
    Error,
    node::{GLOBAL_AUTH_FILE, image_service, mirrors::HOSTS_FOLDER, render, runc, system},
    process::{Place, Service},
    programs::find,
};

/// A container runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// containerd, which gets credentials only from the kubelet.
    Containerd,
    /// containerd with our image service in front, which gets credentials from the auth file that a plugin has written.
    ContainerdWithImages,
    /// CRI-O, which reads the same file itself.
    Crio,
}

impl Runtime {
    /// All runtimes.
    pub const ALL: [Self; 3] = [Self::Containerd, Self::ContainerdWithImages, Self::Crio];

    /// The programs that it needs in addition to those of every node.
    #[must_use]
    pub fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Containerd => &["containerd", "containerd-shim-runc-v2"],
            Self::ContainerdWithImages => &["containerd", "containerd-shim-runc-v2", image_service::PROGRAM],
            Self::Crio => &["crio", "pinns", "conmon", "go-crio-credential-provider"],
        }
    }

    /// The path of its socket inside the node.
    #[must_use]
    pub fn socket(self) -> &'static str {
        match self {
            Self::Containerd | Self::ContainerdWithImages => "/run/containerd.sock",
            Self::Crio => "/run/crio.sock",
        }
    }

    /// The path inside the node of the socket to which the kubelet sends image requests.
    pub(super) fn image_socket(self) -> &'static str {
        match self {
            Self::ContainerdWithImages => image_service::SOCKET,
            Self::Containerd | Self::Crio => self.socket(),
        }
    }

    /// The arguments of our plugin on a node with this runtime.
    #[must_use]
    pub fn plugin_args(self) -> &'static [&'static str] {
        match self {
            Self::ContainerdWithImages => &["--deliver=ticket"],
            Self::Containerd | Self::Crio => &[],
        }
    }

    /// The name of its program and its log.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::Containerd | Self::ContainerdWithImages => "containerd",
            Self::Crio => "crio",
        }
    }

    /// Returns the text of its configuration file.
    pub(super) fn configuration(self, layout: &Layout<'_>) -> Result<String, Error> {
        let program = |name| find(name).map(|path| path.display().to_string());
        let system = system().address();
        let mut values = vec![
            ("ROOT", layout.root.display().to_string()),
            ("SOCKET", layout.socket.into()),
            ("PAUSE", format!("{system}/pause:1")),
        ];
        let template = match self {
            Self::Containerd | Self::ContainerdWithImages => {
                values.extend([("RUNC", program("runc")?), ("HOSTS", layout.hosts.into())]);
                include_str!("containerd.toml")
            }
            Self::Crio => {
                values.extend([
                    ("RUNC", runc::for_crio(layout.root)?.display().to_string()),
                    ("PINNS", program("pinns")?),
                    ("CONMON", program("conmon")?),
                    ("GLOBAL", GLOBAL_AUTH_FILE.into()),
                    ("SYSTEM", system),
                ]);
                include_str!("crio.toml")
            }
        };
        Ok(render(template, &values))
    }

    /// Starts it with the configuration in `config`.
    pub(super) fn start(self, place: Place, config: &Path, logs: &Path) -> Result<Service, Error> {
        let name = self.program();
        let ready = match self {
            Self::Containerd | Self::ContainerdWithImages => "containerd successfully booted",
            Self::Crio => "Registered SIGHUP reload watcher",
        };
        let mut command = place.command(name)?;
        command.arg("--config").arg(config);
        if self == Self::Crio {
            // A folder of the node, not of the machine.
            command.args(["--config-dir", "/etc/crio/crio.conf.d"]);
        }
        let mut service = Service::start(name, command, logs)?;
        service.wait_for_log(ready, Duration::from_mins(1))?;
        Ok(service)
    }
}

/// Where a runtime has what its configuration names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout<'a> {
    /// The node's root folder, with images and containers.
    pub(super) root: &'a Path,
    /// The path of the socket inside the node.
    pub(super) socket: &'a str,
    /// containerd's folder of `hosts.toml` files inside the node.
    pub(super) hosts: &'a str,
}

impl<'a> Layout<'a> {
    /// Where a runtime has it that the test itself starts.
    pub(super) fn plain(root: &'a Path, runtime: Runtime) -> Self {
        Self { root, socket: runtime.socket(), hosts: HOSTS_FOLDER }
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Containerd => "containerd",
            Self::ContainerdWithImages => "containerd-with-images",
            Self::Crio => "crio",
        })
    }
}

impl FromStr for Runtime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|runtime| runtime.to_string() == text).ok_or_else(|| {
            let all = Self::ALL.map(|runtime| runtime.to_string()).join(", ");
            format!("{text:?} is no runtime; there are {all}")
        })
    }
}
