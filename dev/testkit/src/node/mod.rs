//! A whole node on one machine: control plane, registries, a container runtime and the kubelet, in their own namespaces.

mod cgroups;
mod image_service;
mod journal;
mod kubelet;
mod mirrors;
mod namespaces;
mod provider;
mod root;
mod runc;
mod runtime;
mod site;
mod systemd;

use std::{
    cell::RefCell,
    fs,
    ops::Deref,
    path::{Path, PathBuf},
};

use rustix::process::Signal;

pub use self::{
    mirrors::Mirror,
    provider::Provider,
    root::Root,
    runtime::Runtime,
    site::Site,
    systemd::{Kind, Snapshot, SnapshotEntry, SystemdNode, SystemdOptions, UnitState},
};
use self::{namespaces::Init, runtime::Layout};
use crate::{
    Error,
    error::Doing,
    image,
    process::Service,
    registry::{Login, Registry},
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
    site: Site<'r>,
    options: Options,
}

impl<'r> Node<'r> {
    /// Starts a node in `root` and waits until it is Ready.
    pub fn start(root: &'r Root, options: &Options) -> Result<Self, Error> {
        let program = image::compile(&root.path().join("program"))?;
        let init = Init { command: vec![program.display().to_string()], own_folders: "etc opt var" };
        let mut site = Site::start(root, program, &init)?;
        cgroups::add(&root.cgroup(), site.init())?;
        if options.controller_manager {
            site.control_plane_mut().start_controller_manager()?;
        }
        site.lap("control plane");

        let files = root.path().join("files");
        let wanted = site.start_registries(&options.registries)?;
        mirrors::write(&files, &wanted, &options.mirrors, &options.registries_conf)?;
        mirrors::write_hosts(&files)?;
        let mut node = Self {
            kubelet: RefCell::default(),
            image_service: RefCell::default(),
            runtime: RefCell::default(),
            services: Vec::new(),
            site,
            options: options.clone(),
        };
        let config = node.runtime_config();
        let text = options.runtime.configuration(&Layout::plain(root.path(), options.runtime))?;
        fs::write(&config, text).doing("writing", &config)?;
        node.start_runtime()?;
        if options.runtime == Runtime::ContainerdWithImages {
            node.start_image_service()?;
        }
        node.site.lap("runtime");
        node.push("system", "pause:1")?;
        node.kubectl().apply(include_str!("node-access.yaml"))?;
        node.prepare_kubelet()?;
        node.restart_kubelet(&options.kubelet)?;
        node.site.lap("node Ready");
        Ok(node)
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
        let runtime =
            self.options.runtime.start(self.place(), &self.runtime_config(), &self.root().join("logs"))?;
        self.runtime.replace(Some(runtime));
        Ok(())
    }

    fn runtime_config(&self) -> PathBuf {
        self.root().join(format!("{}.toml", self.options.runtime.program()))
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

    /// Returns the path on this machine of the node's file `path`, in one of the folders that both can see.
    #[must_use]
    pub fn file(&self, path: &str) -> PathBuf {
        self.root().join("files").join(path.trim_start_matches('/'))
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

impl<'r> Deref for Node<'r> {
    type Target = Site<'r>;

    fn deref(&self) -> &Site<'r> {
        &self.site
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
