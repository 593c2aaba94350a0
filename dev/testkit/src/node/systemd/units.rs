//! What is on a node under systemd before its start: the programs, their units and the runtime's configuration, at the paths where
//! packages put them.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::{
    Error,
    error::Doing as _,
    node::{NAME, Runtime, render, runtime::Layout},
    programs::find,
};

const CONTAINERD_CONFIG: &str = "etc/containerd/config.toml";
const CRIO_CONFIG: &str = "etc/crio/crio.conf";
/// containerd's folder of `hosts.toml` files.
const HOSTS: &str = "/etc/containerd/certs.d";

/// The units that systemd itself needs to start and stop others, and those that units of packages refer to.
const TARGETS: [(&str, &str); 6] = [
    ("sysinit.target", "DefaultDependencies=no"),
    ("basic.target", "Requires=sysinit.target\nAfter=sysinit.target"),
    ("multi-user.target", "Requires=basic.target\nAfter=basic.target\nAllowIsolate=yes"),
    ("network-online.target", "DefaultDependencies=no"),
    ("shutdown.target", "DefaultDependencies=no"),
    ("umount.target", "DefaultDependencies=no"),
];

/// Units without a log of their own write to the console, since there is no journald.
const SYSTEM_CONF: &str = "[Manager]\nDefaultStandardOutput=tty\nDefaultStandardError=inherit\n";

/// The unit of a runtime.
pub(super) fn of_runtime(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Containerd | Runtime::ContainerdWithImages => "containerd.service",
        Runtime::Crio => "crio.service",
    }
}

/// The path of a runtime's socket inside the node.
pub(super) fn socket(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Containerd | Runtime::ContainerdWithImages => "/run/containerd/containerd.sock",
        Runtime::Crio => "/run/crio/crio.sock",
    }
}

/// Writes the files below `root/seed`, from where the node's first process copies them.
pub(super) fn write_seed(root: &Path, runtime: Runtime) -> Result<(), Error> {
    let seed = Seed { folder: root.join("seed") };
    for (target, lines) in TARGETS {
        seed.write(&format!("usr/lib/systemd/system/{target}"), &format!("[Unit]\n{lines}\n"))?;
    }
    seed.write("usr/lib/systemd/system.conf.d/10-console.conf", SYSTEM_CONF)?;
    seed.write("etc/hostname", &format!("{NAME}\n"))?;
    seed.folder("etc/systemd/system")?;

    let values = [("LOGS", root.join("logs").display().to_string())];
    let unit = |name: &str, text: &str| {
        seed.write(&format!("usr/lib/systemd/system/{name}"), &render(text, &values))
    };
    unit("kubelet.service", include_str!("kubelet.service"))?;
    unit("kubelet.service.d/10-kubeadm.conf", include_str!("10-kubeadm.conf"))?;
    seed.program("kubelet")?;

    let (config, service, programs) = match runtime {
        Runtime::Containerd | Runtime::ContainerdWithImages => {
            (CONTAINERD_CONFIG, include_str!("containerd.service"), ["containerd", "containerd-shim-runc-v2"])
        }
        Runtime::Crio => (CRIO_CONFIG, include_str!("crio.service"), ["crio", "pinns"]),
    };
    unit(of_runtime(runtime), service)?;
    for program in programs {
        seed.program(program)?;
    }
    if config == CONTAINERD_CONFIG {
        seed.folder(HOSTS)?;
    }
    let layout = Layout { root, socket: socket(runtime), hosts: HOSTS };
    seed.write(config, &runtime.configuration(&layout)?)
}

/// The files that a node has in addition to the machine's.
struct Seed {
    folder: PathBuf,
}

impl Seed {
    fn folder(&self, path: &str) -> Result<(), Error> {
        let folder = self.folder.join(path.trim_start_matches('/'));
        fs::create_dir_all(&folder).doing("creating", &folder)
    }

    fn write(&self, path: &str, content: &str) -> Result<(), Error> {
        let file = self.folder.join(path);
        let folder = file.parent().unwrap_or(&file);
        fs::create_dir_all(folder).doing("creating", folder)?;
        fs::write(&file, content).doing("writing", &file)
    }

    /// A program of this machine, in the folder where units look for it.
    fn program(&self, name: &str) -> Result<(), Error> {
        self.folder("usr/bin")?;
        let (program, link) = (find(name)?, self.folder.join("usr/bin").join(name));
        if program.starts_with("/usr/bin") {
            Ok(())
        } else {
            symlink(&program, &link).doing("linking", &link)
        }
    }
}
