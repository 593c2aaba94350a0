//! The container runtimes a node can have.

use std::{fmt, fs, path::Path, str::FromStr, time::Duration};

use crate::{
    Error,
    error::Doing,
    node::render,
    process::{Place, Service},
    programs::find,
};

/// A container runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// containerd, which takes credentials from the kubelet alone.
    Containerd,
    /// CRI-O, which takes them from the auth file that a plugin has written.
    Crio,
}

impl Runtime {
    /// What it needs beside what every node needs.
    #[must_use]
    pub fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Containerd => &["containerd", "containerd-shim-runc-v2"],
            Self::Crio => &["crio", "pinns", "conmon", "go-crio-credential-provider"],
        }
    }

    /// Its socket, inside.
    #[must_use]
    pub fn socket(self) -> &'static str {
        match self {
            Self::Containerd => "/run/containerd.sock",
            Self::Crio => "/run/crio.sock",
        }
    }

    /// Starts it; Pods get `pause` as their first container.
    pub(super) fn start(self, place: Place, root: &Path, pause: &str) -> Result<Service, Error> {
        let program = |name| find(name).map(|path| path.display().to_string());
        let mut values = vec![
            ("ROOT", root.display().to_string()),
            ("SOCKET", self.socket().into()),
            ("PAUSE", pause.into()),
        ];
        values.push(("RUNC", program("runc")?));
        let template = match self {
            Self::Containerd => include_str!("containerd.toml"),
            Self::Crio => {
                values.extend([("PINNS", program("pinns")?), ("CONMON", program("conmon")?)]);
                include_str!("crio.toml")
            }
        };
        let config = root.join(format!("{self}.toml"));
        fs::write(&config, render(template, &values)).doing("writing", &config)?;
        let (mut command, ready) = match self {
            Self::Containerd => (place.command("containerd")?, "containerd successfully booted"),
            Self::Crio => (place.command("crio")?, "Registered SIGHUP reload watcher"),
        };
        command.arg("--config").arg(&config);
        if self == Self::Crio {
            // The machine's own drop-in files are not this node's.
            command.args(["--config-dir", ""]);
        }
        let mut service = Service::start(&self.to_string(), command, &root.join("logs"))?;
        service.wait_for_log(ready, Duration::from_mins(1))?;
        Ok(service)
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Containerd => "containerd",
            Self::Crio => "crio",
        })
    }
}

impl FromStr for Runtime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Containerd, Self::Crio]
            .into_iter()
            .find(|runtime| runtime.to_string() == text)
            .ok_or_else(|| format!("{text:?} is no runtime; there are containerd and crio"))
    }
}
