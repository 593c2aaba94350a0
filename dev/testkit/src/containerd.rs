//! A real containerd without kubelet and Pods; and our image service in front of it.

use std::{
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    Error,
    error::Doing as _,
    process::{Place, Service},
    programs::find,
};

const CONFIG: &str = r#"
version = 3
root = "@ROOT@/containerd/root"
state = "@ROOT@/containerd/state"
[grpc]
  address = "@ROOT@/containerd.sock"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = "@ROOT@/certs.d"
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["@ROOT@/none"]
  conf_dir = "@ROOT@/none"
# Its socket has one path on the machine, and several of these start at the same moment.
[plugins.'io.containerd.nri.v1.nri']
  disable = true
"#;

/// containerd in its own folder. It runs until it is dropped.
#[derive(Debug)]
pub struct Containerd {
    root: PathBuf,
    service: Service,
}

impl Containerd {
    /// Starts it below `root`, which must be short enough for the path of a socket. It uses the `certs.d` there.
    pub fn start(root: &Path) -> Result<Self, Error> {
        let (config, certs_d) = (root.join("containerd.toml"), root.join("certs.d"));
        fs::create_dir_all(&certs_d).doing("creating", &certs_d)?;
        let text = CONFIG.replace("@ROOT@", &root.display().to_string());
        fs::write(&config, text).doing("writing", &config)?;
        // It has its own mount namespace, so that nobody else sees the mounts for unpacking layers.
        let mut command = Place::Host.command("unshare")?;
        command.args(["--mount", "--propagation", "private"]).arg(find("containerd")?);
        command.arg("--config").arg(&config);
        let mut service = Service::start("containerd", command, root)?;
        service.wait_for_log("containerd successfully booted", Duration::from_mins(1))?;
        Ok(Self { root: root.to_owned(), service })
    }

    /// The path of its socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.root.join("containerd.sock")
    }

    /// Kills it like `kill -9`, and starts it again in the same folder.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.service.stop();
        *self = Self::start(&self.root)?;
        Ok(())
    }
}

/// Returns a command for the image service `program` with all of its files below `root`: `containerd.sock`, `certs.d`,
/// `registries.conf`, `auth`, and `images.sock` to listen on. Missing files are created empty.
pub fn image_service(program: &Path, root: &Path) -> Result<Command, Error> {
    for folder in ["auth", "locks", "certs.d", "registries.conf.d"] {
        let path = root.join(folder);
        DirBuilder::new().recursive(true).mode(0o700).create(&path).doing("creating", &path)?;
    }
    let conf = root.join("registries.conf");
    if !conf.exists() {
        fs::write(&conf, "").doing("writing", &conf)?;
    }
    let mut command = Command::new(program);
    command.env_clear();
    for (option, name) in [
        ("--listen", "images.sock"),
        ("--containerd", "containerd.sock"),
        ("--certs-d", "certs.d"),
        ("--registries-conf", "registries.conf"),
        ("--registries-conf-dir", "registries.conf.d"),
        ("--auth-dir", "auth"),
        ("--lock-dir", "locks"),
    ] {
        command.arg(option).arg(root.join(name));
    }
    Ok(command)
}
