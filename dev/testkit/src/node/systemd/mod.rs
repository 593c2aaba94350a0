//! A node whose first process is systemd, as on a real machine: the runtime and the kubelet are units, and a Pod can restart
//! them.

mod console;
mod snapshot;
mod unit;
mod units;

use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    ops::Deref,
    path::{Path, PathBuf},
};

use self::console::Console;
pub use self::{
    snapshot::{Kind, Snapshot, SnapshotEntry},
    unit::UnitState,
};
use crate::{
    Error,
    error::Doing,
    image::{self, Image},
    node::{
        NAME, Root, Runtime, Site,
        kubelet::{self, READY_WITHIN},
        mirrors,
        namespaces::Init,
        system,
    },
    process::wait_until,
    registry::Registry,
};

/// The scripts that make the first process into systemd.
const JOIN: &str = include_str!("join.sh");
const BOOT: &str = include_str!("boot.sh");
/// The time limit for systemd to answer.
const BOOTS_WITHIN: std::time::Duration = std::time::Duration::from_secs(30);

/// The configuration of a node under systemd.
#[derive(Clone, Debug)]
pub struct SystemdOptions {
    /// The container runtime. No node has the image service at the start: it is for the test to install.
    pub runtime: Runtime,
    /// The registries, each on its own port.
    pub registries: Vec<Registry>,
    /// Lines to add to `registries.conf`.
    pub registries_conf: String,
    /// Lines to add to the kubelet's configuration.
    pub kubelet: String,
}

impl SystemdOptions {
    /// A node as after `kubeadm join`: no registries but its own, no mirrors, no credential providers.
    #[must_use]
    pub fn new(runtime: Runtime) -> Self {
        Self { runtime, registries: Vec::new(), registries_conf: String::new(), kubelet: String::new() }
    }
}

/// A running node under systemd. It ends when it is dropped; its files and logs stay until its root is dropped.
#[derive(Debug)]
pub struct SystemdNode<'r> {
    site: Site<'r>,
    _console: Console,
    options: SystemdOptions,
}

impl<'r> SystemdNode<'r> {
    /// Starts a node in `root`, with controllers and a scheduler, and waits until it is Ready.
    pub fn start(root: &'r Root, options: &SystemdOptions) -> Result<Self, Error> {
        let path = root.path();
        let logs = path.join("logs");
        fs::create_dir_all(&logs).doing("creating", &logs)?;
        let program = image::compile(&path.join("program"))?;
        let console = Console::open(&logs.join("systemd.log"))?;
        units::write_seed(path, options.runtime)?;
        let mut site = Site::start(root, program, &init(root, &console.path))?;
        site.lap("control plane");
        site.control_plane_mut().begin_controller_manager()?;
        site.control_plane_mut().start_scheduler()?;
        let wanted = site.start_registries(&options.registries)?;
        mirrors::write(&path.join("files"), &wanted, &[], &options.registries_conf)?;
        let mut node = Self { site, _console: console, options: options.clone() };
        wait_until("systemd answers", BOOTS_WITHIN, || {
            node.systemctl(&["is-active", "multi-user.target"]).map_err(|error| error.to_string())
        })?;
        node.push("system", "pause:1")?;
        node.systemctl(&["enable", "--now", node.runtime_unit()])?;
        node.site.lap("runtime");
        node.prepare_kubelet()?;
        node.systemctl(&["enable", "--now", "kubelet.service"])?;
        node.wait_ready()?;
        node.site.lap("node Ready");
        node.control_plane().wait_for_controllers()?;
        node.site.lap("controllers");
        Ok(node)
    }

    /// Writes the files that `kubeadm join` writes.
    fn prepare_kubelet(&self) -> Result<(), Error> {
        self.kubectl().apply(include_str!("../node-access.yaml"))?;
        let kubeconfig = self.kubelet_identity()?;
        let text = fs::read_to_string(&kubeconfig).doing("reading", &kubeconfig)?;
        self.write("/etc/kubernetes/kubelet.conf", &text)?;
        let socket = units::socket(self.options.runtime);
        let config = kubelet::configuration(self.root(), socket, &self.options.kubelet);
        self.write("/var/lib/kubelet/config.yaml", &config)?;
        let flags = format!("KUBELET_KUBEADM_ARGS=\"--hostname-override={NAME} --node-ip=10.123.0.2\"\n");
        self.write("/var/lib/kubelet/kubeadm-flags.env", &flags)
    }

    /// The container runtime.
    #[must_use]
    pub fn runtime(&self) -> Runtime {
        self.options.runtime
    }

    /// The name of the runtime's unit.
    #[must_use]
    pub fn runtime_unit(&self) -> &'static str {
        units::of_runtime(self.options.runtime)
    }

    /// Runs `systemctl` on the node and returns its output.
    pub fn systemctl(&self, args: &[&str]) -> Result<String, Error> {
        self.place().run("systemctl", args)
    }

    /// The state of a unit.
    pub fn unit(&self, name: &str) -> Result<UnitState, Error> {
        let properties = format!("--property={}", unit::PROPERTIES.join(","));
        Ok(UnitState::parse(&self.systemctl(&["show", &properties, name])?))
    }

    /// Waits until the kubelet runs, answers that it is healthy, and the node is Ready.
    pub fn wait_ready(&self) -> Result<(), Error> {
        wait_until("the node is Ready", READY_WITHIN, || {
            let kubelet = self.unit("kubelet.service").map_err(|error| error.to_string())?;
            if kubelet.active != "active" {
                return Err(format!("{kubelet:?}; its log ends with:\n{}", self.log("kubelet").tail(3)));
            }
            self.kubelet_is_healthy()?;
            self.ready()
        })
    }

    fn kubelet_is_healthy(&self) -> Result<(), String> {
        let ask = || {
            let mut stream = self.place().connect(10248)?;
            stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map(|_| answer)
        };
        let answer = ask().map_err(|error| format!("the kubelet does not answer: {error}"))?;
        if answer.contains(" 200 ") { Ok(()) } else { Err(answer) }
    }

    /// Returns the path on this machine of the node's file `path`. It leads through `/proc`, so an absolute symbolic link on
    /// the way would lead to a file of the machine.
    #[must_use]
    pub fn file(&self, path: &str) -> PathBuf {
        Path::new("/proc").join(self.init().to_string()).join("root").join(path.trim_start_matches('/'))
    }

    /// Reads a file of the node; `None` if there is none.
    pub fn read(&self, path: &str) -> Result<Option<String>, Error> {
        let file = self.file(path);
        match fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).doing("reading", &file),
        }
    }

    /// Writes a file of the node, and creates the folders above it.
    pub fn write(&self, path: &str, content: &str) -> Result<(), Error> {
        let file = self.file(path);
        let folder = file.parent().unwrap_or(&file);
        fs::create_dir_all(folder).doing("creating", folder)?;
        fs::write(&file, content).doing("writing", &file)
    }

    /// Everything in these folders of the node, to compare with another time. A folder that does not exist has no entries.
    pub fn snapshot(&self, folders: &[&str]) -> Result<Snapshot, Error> {
        let mut entries = BTreeMap::new();
        for folder in folders {
            snapshot::add(&self.file("/"), Path::new(folder), &mut entries)?;
        }
        Ok(entries)
    }

    /// Pushes an image to the node's own registry, which asks nobody for a login, as `repository`, which ends with a tag.
    /// Returns the image's name for a manifest.
    pub fn load_image(&self, repository: &str, image: &Image) -> Result<String, Error> {
        let layout = self.layout_folder(repository);
        image.write(&layout)?;
        let system = system();
        self.registry(system.name)?.push(&layout, repository)?;
        Ok(format!("{}/{repository}", system.address()))
    }
}

impl<'r> Deref for SystemdNode<'r> {
    type Target = Site<'r>;

    fn deref(&self) -> &Site<'r> {
        &self.site
    }
}

/// The first process: it joins the node's cgroup, makes it the root of a cgroup namespace, and becomes systemd.
fn init(root: &Root, console: &Path) -> Init {
    let (path, console, cgroup) =
        (root.path().display().to_string(), console.display().to_string(), root.cgroup());
    let join = ["sh", "-c", JOIN, "join.sh", &cgroup];
    let boot = ["unshare", "--cgroup", "--", "sh", "-c", BOOT, "boot.sh", &path, &console];
    Init {
        command: join.into_iter().chain(boot).map(str::to_owned).collect(),
        own_folders: "etc opt tmp usr var",
    }
}
