//! A whole node on one machine: control plane, registries, a container runtime and the kubelet, in their own namespaces.

mod cgroups;
mod image_service;
mod journal;
mod kubelet;
mod mirrors;
mod namespaces;
mod provider;
mod root;
mod runtime;

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::process::Signal;

use self::{journal::Journal, namespaces::Namespaces};
pub use self::{mirrors::Mirror, provider::Provider, root::Root, runtime::Runtime};
use crate::{
    ControlPlane, Error,
    control_plane::Ports,
    error::Doing,
    image,
    kubectl::Kubectl,
    process::{Log, Place, Service},
    registry::{Login, Registry, RunningRegistry},
};

/// The name of the node.
pub const NAME: &str = "node-a";
/// The plugin's name in the kubelet's configuration.
pub const PLUGIN: &str = "crio-credential-provider";
/// The user of the registry `mirror` in [`Options::new`].
pub const MIRROR_LOGIN: Login = Login { user: "mirroruser", password: "mirrorpass" };
/// The folder in which plugins hand credentials to the runtime.
pub const AUTH_FOLDER: &str = "/etc/crio/auth";
/// The node's own credentials, at the path where kubelets keep them and plugins look for them.
pub const GLOBAL_AUTH_FILE: &str = "/var/lib/kubelet/config.json";

/// The configuration of a node.
#[derive(Clone, Debug)]
pub struct Options {
    /// The container runtime.
    pub runtime: Runtime,
    /// The kubelet's credential provider plugins.
    pub providers: Vec<Provider>,
    /// The registries, each on its own port.
    pub registries: Vec<Registry>,
    /// The mirrors, in order.
    pub mirrors: Vec<Mirror>,
    /// Lines to add to `registries.conf`.
    pub registries_conf: String,
    /// Lines to add to the kubelet's configuration.
    pub kubelet: String,
    /// Whether kube-controller-manager runs.
    pub controller_manager: bool,
}

impl Options {
    /// A node where `docker.io` is a registry with a password.
    #[must_use]
    pub fn new(runtime: Runtime, plugin: &Path) -> Self {
        Self {
            runtime,
            providers: vec![Provider { args: runtime.plugin_args(), ..Provider::new(plugin) }],
            registries: vec![Registry { name: "mirror", port: 5000, logins: vec![MIRROR_LOGIN], tls: false }],
            mirrors: vec![Mirror { source: "docker.io", registry: "mirror" }],
            registries_conf: String::new(),
            kubelet: String::new(),
            controller_manager: false,
        }
    }
}

/// A running node. It ends when it is dropped; its files and logs stay until its root is dropped.
#[derive(Debug)]
pub struct Node<'r> {
    // In the order in which they end. Services that scenarios stop and start are in cells, since scenarios share the node.
    kubelet: RefCell<Option<Service>>,
    image_service: RefCell<Option<Service>>,
    runtime: RefCell<Option<Service>>,
    /// Additional services that tests have started.
    services: Vec<Service>,
    registries: Vec<RunningRegistry>,
    control_plane: ControlPlane,
    journal: Journal,
    namespaces: Namespaces,
    program: PathBuf,
    options: Options,
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
        let journal = Journal::start(namespaces.init())?;
        lap("namespaces");

        let ports = Ports::usual(namespaces.forward(6443)?);
        let mut control_plane = ControlPlane::start_at(place, &path, ports)?;
        if options.controller_manager {
            control_plane.start_controller_manager()?;
        }
        lap("control plane");

        let wanted: Vec<_> = options.registries.iter().cloned().chain([system()]).collect();
        let files = path.join("files");
        mirrors::write(&files, &wanted, &options.mirrors, &options.registries_conf)?;
        mirrors::write_hosts(&files)?;
        // Every program on the node trusts the registries, as in a company with its own authority.
        let trust = format!("cat {} >> /etc/ssl/certs/ca-certificates.crt", control_plane.ca().display());
        place.run("sh", &["-c", &trust])?;
        let mut registries = Vec::new();
        for registry in wanted {
            registries.push(registry.start(place, &path, control_plane.authority())?);
        }
        lap("registries");

        let cni = path.join("cni/10-pods.conflist");
        fs::write(&cni, include_str!("cni.conflist")).doing("writing", &cni)?;
        let mut node = Self {
            kubelet: RefCell::default(),
            image_service: RefCell::default(),
            runtime: RefCell::default(),
            services: Vec::new(),
            registries,
            control_plane,
            journal,
            namespaces,
            program,
            options: options.clone(),
            laps: Vec::new(),
            root,
        };
        node.start_runtime()?;
        if options.runtime == Runtime::ContainerdWithImages {
            node.start_image_service()?;
        }
        lap("runtime");
        node.push("system", "pause:1")?;
        node.kubectl().apply(include_str!("node-access.yaml"))?;
        node.prepare_kubelet()?;
        node.restart_kubelet(&options.kubelet)?;
        lap("node Ready");
        node.laps = laps;
        Ok(node)
    }

    /// The steps of the start, each with the time when it was finished.
    #[must_use]
    pub fn laps(&self) -> &[(&'static str, Duration)] {
        &self.laps
    }

    /// The container runtime.
    #[must_use]
    pub fn runtime(&self) -> Runtime {
        self.options.runtime
    }

    /// Kills the runtime, like `kill -9`. The containers keep running.
    pub fn kill_runtime(&self) {
        drop(self.runtime.take());
    }

    /// Starts the runtime and waits until it serves.
    pub fn start_runtime(&self) -> Result<(), Error> {
        let pause = format!("{}/pause:1", system().address());
        let runtime = self.options.runtime.start(self.place(), self.root(), &pause)?;
        self.runtime.replace(Some(runtime));
        Ok(())
    }

    /// Makes the runtime use `registries.conf` and its drop-in files as they are now. containerd reads its version of them
    /// for every pull, and would die of the signal that makes CRI-O reload them.
    pub fn reload_registries(&self) -> Result<(), Error> {
        mirrors::write_hosts(&self.root().join("files"))?;
        match (self.runtime(), self.runtime.borrow().as_ref()) {
            (Runtime::Crio, Some(runtime)) => runtime.signal(Signal::HUP),
            _ => Ok(()),
        }
    }

    /// Everything that the node's programs have sent to the journal so far.
    #[must_use]
    pub fn journal(&self) -> Vec<String> {
        self.journal.entries()
    }

    /// The folder with everything; logs are in `logs`.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The place where programs of the node run.
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

    /// The log of one of the services: `kubelet`, `containerd`, `crio`, `registry-<name>`, …
    #[must_use]
    pub fn log(&self, service: &str) -> Log {
        Log::of(&self.root().join("logs"), service)
    }

    /// Returns the path on this machine of the node's file `path`, in one of the folders that both can see.
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

    /// Pushes a test image to a registry as `repository`, which ends with a tag, and returns its digest, which is different
    /// for every repository.
    pub fn push(&self, registry: &str, repository: &str) -> Result<String, Error> {
        self.registry(registry)?.push(&self.layout(repository)?, repository)
    }

    /// Writes the test image `repository`, which ends with a tag, as an OCI layout.
    pub fn layout(&self, repository: &str) -> Result<PathBuf, Error> {
        let layout = self.root().join("images").join(repository.replace(['/', ':'], "-"));
        image::write(&layout, &self.program, repository)?;
        Ok(layout)
    }

    /// Starts another program on the node; it ends with the node.
    pub fn start_service(&mut self, name: &str, program: &str, args: &[&str]) -> Result<&mut Service, Error> {
        let mut command = self.place().command(program)?;
        command.args(args);
        let service = Service::start(name, command, &self.root().join("logs"))?;
        self.services.push(service);
        let last = self.services.len() - 1;
        Ok(&mut self.services[last])
    }
}

/// The registry of pause images. It needs no credentials, since these images are pulled before any Pod could provide them.
fn system() -> Registry {
    Registry { name: "system", port: 4999, logins: Vec::new(), tls: false }
}

/// Replaces the `@NAME@`s of a template.
fn render(template: &str, values: &[(&str, String)]) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("@{name}@"), value))
}
