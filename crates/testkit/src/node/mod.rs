//! A whole node on one machine: control plane, registries, a container runtime and the kubelet, in namespaces of their own.

mod cgroups;
mod mirrors;
mod namespaces;
mod root;
mod runtime;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::Value;

use self::namespaces::Namespaces;
pub use self::{mirrors::Mirror, root::Root, runtime::Runtime};
use crate::{
    ControlPlane, Error,
    control_plane::Ports,
    error::Doing,
    image,
    kubectl::Kubectl,
    process::{Log, Place, Service, wait_until},
    registry::{Login, Registry, RunningRegistry},
};

/// The name of the node.
pub const NAME: &str = "node-a";
/// The plugin's name in the kubelet's configuration.
pub const PLUGIN: &str = "crio-credential-provider";
/// Who may use the registry `mirror` of [`Options::new`].
pub const MIRROR_LOGIN: Login = Login { user: "mirroruser", password: "mirrorpass" };
/// The folder that plugins hand credentials to the runtime in.
pub const AUTH_FOLDER: &str = "/etc/crio/auth";

/// What a node is made of.
#[derive(Clone, Debug)]
pub struct Options {
    /// The container runtime.
    pub runtime: Runtime,
    /// The credential provider plugin that the kubelet is given.
    pub plugin: PathBuf,
    /// The registries, each on a port of its own.
    pub registries: Vec<Registry>,
    /// Which of them stand in for others, in order.
    pub mirrors: Vec<Mirror>,
    /// Lines to add to the kubelet's configuration.
    pub kubelet: String,
    /// Whether kube-controller-manager runs.
    pub controller_manager: bool,
}

impl Options {
    /// A node whose `docker.io` is a registry with a password.
    #[must_use]
    pub fn new(runtime: Runtime, plugin: &Path) -> Self {
        Self {
            runtime,
            plugin: plugin.to_owned(),
            registries: vec![Registry { name: "mirror", port: 5000, logins: vec![MIRROR_LOGIN], tls: false }],
            mirrors: vec![Mirror { source: "docker.io", registry: "mirror" }],
            kubelet: String::new(),
            controller_manager: false,
        }
    }
}

/// A running node. It ends when it is dropped; its files and logs stay until its root is.
#[derive(Debug)]
pub struct Node<'r> {
    // In the order they end.
    kubelet: Option<Service>,
    /// The runtime, and whatever tests have started besides.
    services: Vec<Service>,
    registries: Vec<RunningRegistry>,
    control_plane: ControlPlane,
    namespaces: Namespaces,
    program: PathBuf,
    runtime: Runtime,
    laps: Vec<(&'static str, Duration)>,
    root: &'r Root,
}

impl<'r> Node<'r> {
    /// Starts a node in `root` and waits until it is Ready.
    pub fn start(root: &'r Root, options: &Options) -> Result<Self, Error> {
        let begun = Instant::now();
        let mut laps = Vec::new();
        let mut lap = |what| laps.push((what, begun.elapsed()));
        let path = root.path().to_owned();
        for folder in ["logs", "plugins", "cni"] {
            let folder = path.join(folder);
            fs::create_dir_all(&folder).doing("creating", &folder)?;
        }
        let program = image::compile(&path.join("program"))?;
        cgroups::create(&root.cgroup())?;
        let namespaces = Namespaces::create(&path, &program, &root.cgroup())?;
        let place = namespaces.place();
        lap("namespaces");

        let ports = Ports::usual(namespaces.forward(6443)?);
        let mut control_plane = ControlPlane::start_at(place, &path, ports)?;
        if options.controller_manager {
            control_plane.start_controller_manager()?;
        }
        lap("control plane");

        // Pause images are pulled before any Pod could bring credentials: from a registry that asks for none.
        let system = Registry { name: "system", port: 4999, logins: Vec::new(), tls: false };
        let pause = format!("{}/pause:1", system.address());
        let wanted: Vec<_> = options.registries.iter().cloned().chain([system]).collect();
        mirrors::write(&path.join("files/etc/containers"), &wanted, &options.mirrors, &control_plane.ca())?;
        let mut registries = Vec::new();
        for registry in wanted {
            registries.push(registry.start(place, &path, control_plane.authority())?);
        }
        lap("registries");

        let cni = path.join("cni/10-pods.conflist");
        fs::write(&cni, include_str!("cni.conflist")).doing("writing", &cni)?;
        let runtime = options.runtime.start(place, &path, &pause)?;
        lap("runtime");

        let mut node = Self {
            kubelet: None,
            services: vec![runtime],
            registries,
            control_plane,
            namespaces,
            program,
            runtime: options.runtime,
            laps: Vec::new(),
            root,
        };
        node.push("system", "pause:1")?;
        node.install_plugin(&options.plugin)?;
        node.kubectl().apply(include_str!("node-access.yaml"))?;
        node.configure_kubelet(&options.kubelet)?;
        node.restart_kubelet()?;
        node.wait_ready()?;
        lap("node Ready");
        node.laps = laps;
        Ok(node)
    }

    /// What had been started after how long.
    #[must_use]
    pub fn laps(&self) -> &[(&'static str, Duration)] {
        &self.laps
    }

    /// The container runtime.
    #[must_use]
    pub fn runtime(&self) -> Runtime {
        self.runtime
    }

    /// The folder everything is in; logs are in `logs`.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Where programs of the node run.
    #[must_use]
    pub fn place(&self) -> Place {
        self.namespaces.place()
    }

    /// The control plane.
    #[must_use]
    pub fn control_plane(&self) -> &ControlPlane {
        &self.control_plane
    }

    /// `kubectl` as the administrator.
    #[must_use]
    pub fn kubectl(&self) -> Kubectl {
        self.control_plane.kubectl()
    }

    /// The log of one of its services: `kubelet`, `containerd`, `crio`, `registry-<name>`, …
    #[must_use]
    pub fn log(&self, service: &str) -> Log {
        Log::of(&self.root().join("logs"), service)
    }

    /// The path here of a file that the node has at `path`, in one of the folders that both see.
    #[must_use]
    pub fn file(&self, path: &str) -> PathBuf {
        self.root().join("files").join(path.trim_start_matches('/'))
    }

    /// All registries.
    pub fn registries(&self) -> impl Iterator<Item = &RunningRegistry> {
        self.registries.iter()
    }

    /// The registry called `name`.
    pub fn registry(&self, name: &str) -> Result<&RunningRegistry, Error> {
        self.registries.iter().find(|running| running.registry().name == name).ok_or_else(|| {
            Error::NoProgram {
                program: format!("a registry {name:?}"),
                searched: "the registries of this node".to_owned(),
            }
        })
    }

    /// Pushes a test image to a registry as `repository`, which ends with a tag; every repository gets its own digest.
    pub fn push(&self, registry: &str, repository: &str) -> Result<(), Error> {
        let layout = self.root().join("images").join(repository.replace(['/', ':'], "-"));
        image::write(&layout, &self.program, repository)?;
        self.registry(registry)?.push(&layout, repository)
    }

    /// Gives the kubelet another plugin; it runs the file anew for each request.
    pub fn install_plugin(&self, program: &Path) -> Result<(), Error> {
        let folder = self.root().join("plugins");
        let (new, path) = (folder.join("new"), folder.join(PLUGIN));
        fs::copy(program, &new).doing("copying", program)?;
        Place::Host.run("chmod", &["755", &new.display().to_string()])?;
        // A program that runs cannot be written to, but can be replaced.
        fs::rename(&new, &path).doing("replacing", &path)
    }

    /// Starts a further program on the node; it ends with the node.
    pub fn start_service(&mut self, name: &str, program: &str, args: &[&str]) -> Result<&mut Service, Error> {
        let mut command = self.place().command(program)?;
        command.args(args);
        let service = Service::start(name, command, &self.root().join("logs"))?;
        self.services.push(service);
        let last = self.services.len() - 1;
        Ok(&mut self.services[last])
    }

    fn configure_kubelet(&self, extra: &str) -> Result<(), Error> {
        let authority = self.control_plane.authority();
        authority.server("kubelet-serving", &[NAME, "localhost", "127.0.0.1", "10.123.0.2"])?;
        self.control_plane.component_kubeconfig(
            "kubelet",
            &format!("system:node:{NAME}"),
            Some("system:nodes"),
        )?;
        let config = render(
            include_str!("kubelet.yaml"),
            &[
                ("SOCKET", self.runtime.socket().to_owned()),
                ("CGROUP", self.root.cgroup()),
                ("ROOT", self.root().display().to_string()),
            ],
        );
        for (file, content) in [
            ("kubelet.yaml", format!("{config}{extra}\n")),
            ("credential-provider.yaml", include_str!("credential-provider.yaml").to_owned()),
        ] {
            let path = self.root().join(file);
            fs::write(&path, content).doing("writing", &path)?;
        }
        Ok(())
    }

    /// Starts the kubelet, again if it runs.
    pub fn restart_kubelet(&mut self) -> Result<(), Error> {
        self.kubelet = None;
        let root = self.root();
        let flag = |name: &str, file: &str| format!("--{name}={}", root.join(file).display());
        let mut command = self.place().command("kubelet")?;
        command
            .arg(flag("config", "kubelet.yaml"))
            .arg(flag("kubeconfig", "kubelet.kubeconfig"))
            .arg(flag("image-credential-provider-config", "credential-provider.yaml"))
            .arg(flag("image-credential-provider-bin-dir", "plugins"))
            .args([
                format!("--hostname-override={NAME}"),
                "--node-ip=10.123.0.2".to_owned(),
                "--v=4".to_owned(),
            ]);
        self.kubelet = Some(Service::start("kubelet", command, &root.join("logs"))?);
        Ok(())
    }

    fn wait_ready(&mut self) -> Result<(), Error> {
        let kubectl = self.kubectl();
        let mut ready = || {
            let node = kubectl.json(&["get", "node", NAME]).map_err(|error| error.to_string())?;
            let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
            match conditions.into_iter().find(|condition| condition["type"] == "Ready") {
                Some(condition) if condition["status"] == "True" => Ok(()),
                other => Err(format!("its condition Ready is {other:?}")),
            }
        };
        match &mut self.kubelet {
            Some(kubelet) => kubelet.wait("makes the node Ready", Duration::from_secs(90), ready),
            None => wait_until("the node is Ready", Duration::ZERO, &mut ready),
        }
    }

    /// The kubelet's records of images pulled: by which credentials, and so who may use them.
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

/// Fills the `@NAME@`s of a template.
fn render(template: &str, values: &[(&str, String)]) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("@{name}@"), value))
}
