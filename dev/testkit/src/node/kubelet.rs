//! The kubelet of a node: its configuration, its start, and the plugins that it runs.

use std::{fs, path::Path, time::Duration};

use serde_json::Value;

use crate::{
    Error,
    error::Doing,
    node::{NAME, Node, PLUGIN, provider, render},
    process::{Place, Service},
};

/// The path where the kubelets of many distributions have their kubeconfig, and where plugins therefore look for it.
const KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";

/// The time limit for the node to become Ready after the kubelet was started.
pub(super) const READY_WITHIN: Duration = Duration::from_secs(90);

/// Returns the kubelet's configuration for a node in `root` whose runtime has this socket, with additional lines.
pub(super) fn configuration(root: &Path, socket: &str, extra: &str) -> String {
    let values = [("SOCKET", socket.to_owned()), ("ROOT", root.display().to_string())];
    format!("{}{extra}\n", render(include_str!("kubelet.yaml"), &values))
}

impl Node<'_> {
    /// Prepares everything that the kubelet needs, except its own configuration.
    pub(super) fn prepare_kubelet(&self) -> Result<(), Error> {
        let kubeconfig = self.kubelet_identity()?;
        fs::copy(&kubeconfig, self.file(KUBECONFIG)).doing("copying", &kubeconfig)?;
        for provider in &self.options.providers {
            self.install(provider.name, &provider.program)?;
        }
        let path = self.root().join("credential-provider.yaml");
        fs::write(&path, provider::configuration(&self.options.providers)).doing("writing", &path)
    }

    /// Installs another program as the plugin [`PLUGIN`]; the kubelet runs the file anew for each request.
    pub fn install_plugin(&self, program: &Path) -> Result<(), Error> {
        self.install(PLUGIN, program)
    }

    fn install(&self, name: &str, program: &Path) -> Result<(), Error> {
        let folder = self.root().join("plugins");
        let (new, path) = (folder.join("new"), folder.join(name));
        fs::copy(program, &new).doing("copying", program)?;
        Place::Host.run("chmod", &["755", &new.display().to_string()])?;
        // A running program cannot be written to, but it can be replaced.
        fs::rename(&new, &path).doing("replacing", &path)
    }

    /// Kills the kubelet, like `kill -9`.
    pub fn kill_kubelet(&self) {
        drop(self.kubelet.take());
    }

    /// Starts or restarts the kubelet with these lines added to its configuration, and waits until the node is Ready.
    pub fn restart_kubelet(&self, extra: &str) -> Result<(), Error> {
        let root = self.root();
        let more = format!(
            "imageServiceEndpoint: unix://{}\ncgroupRoot: /{}\nserializeImagePulls: false\n{extra}",
            self.runtime().image_socket(),
            self.cgroup(),
        );
        let path = root.join("kubelet.yaml");
        fs::write(&path, configuration(root, self.runtime().socket(), &more)).doing("writing", &path)?;
        let flag = |name: &str, file: &Path| format!("--{name}={}", root.join(file).display());
        let mut command = self.place().command("kubelet")?;
        command
            .arg(flag("config", Path::new("kubelet.yaml")))
            .arg(flag("kubeconfig", &self.file(KUBECONFIG)))
            .arg(flag("image-credential-provider-config", Path::new("credential-provider.yaml")))
            .arg(flag("image-credential-provider-bin-dir", Path::new("plugins")))
            .args([
                format!("--hostname-override={NAME}"),
                "--node-ip=10.123.0.2".to_owned(),
                "--v=4".to_owned(),
            ]);
        let mut running = self.kubelet.borrow_mut();
        // Two kubelets cannot run at once.
        drop(running.take());
        let kubelet = running.insert(Service::start("kubelet", command, &root.join("logs"))?);
        kubelet.wait_for_log("Starting kubelet main sync loop", Duration::from_mins(1))?;
        kubelet.wait("makes the node Ready", READY_WITHIN, || self.ready())
    }

    /// Returns the kubelet's records of pulled images: with which credentials they were pulled, and so who may use them.
    pub fn pull_records(&self) -> Result<Vec<Value>, Error> {
        let folder = self.file("/var/lib/kubelet/image_manager/pulled");
        let mut records = Vec::new();
        for entry in fs::read_dir(&folder).doing("reading", &folder)?.flatten() {
            let path = entry.path();
            let text = fs::read_to_string(&path).doing("reading", &path)?;
            let from = path.display().to_string();
            records.push(serde_json::from_str(&text).map_err(|source| Error::Json { from, source })?);
        }
        Ok(records)
    }
}
