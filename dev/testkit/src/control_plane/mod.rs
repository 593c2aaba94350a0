//! etcd and kube-apiserver; kube-controller-manager and kube-scheduler for tests that need them.

mod access;
mod audit;
mod history;
mod many;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    Error,
    certificates::{Authority, Keys},
    error::Doing,
    kubectl::write_kubeconfig,
    process::{Log, Place, Service, free_ports, wait_until},
};

pub use audit::{AuditEntry, AuditLog, AuditMark, Completed};
pub use many::node;

/// The audience and issuer of service account tokens.
pub const AUDIENCE: &str = "https://kubernetes.default.svc";
/// The time limit for a component to become ready. It is generous, since a machine under load is no reason to fail.
const STARTS_WITHIN: Duration = Duration::from_mins(1);

/// The ports of a control plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    etcd: u16,
    etcd_peers: u16,
    /// The port on which kube-apiserver listens.
    api: u16,
    /// The port on which this process reaches it: a different one if it listens in its own network namespace.
    api_from_here: u16,
}

impl Ports {
    /// Returns ports that are not in use.
    fn free() -> Result<Self, Error> {
        let [etcd, etcd_peers, api] = free_ports()?;
        Ok(Self { etcd, etcd_peers, api, api_from_here: api })
    }

    /// The usual ports, for a network namespace in which nothing else uses them.
    pub(crate) fn usual(api_from_here: u16) -> Self {
        Self { etcd: 2379, etcd_peers: 2380, api: 6443, api_from_here }
    }
}

/// A running control plane. It ends when this value is dropped, or at the latest with the process.
#[derive(Debug)]
pub struct ControlPlane {
    root: PathBuf,
    place: Place,
    ports: Ports,
    authority: Authority,
    token_keys: Keys,
    kubeconfig: PathBuf,
    // Dropped before etcd, because without etcd it only logs errors.
    api_server: Mutex<Option<Service>>,
    kept: Mutex<Option<many::Kept>>,
    services: Vec<Service>,
    started_in: Duration,
}

impl ControlPlane {
    /// Starts etcd and kube-apiserver, with all their files in `root`, and waits until the API is ready.
    pub fn start(root: &Path) -> Result<Self, Error> {
        Self::start_at(Place::Host, root, Ports::free()?)
    }

    pub(crate) fn start_at(place: Place, root: &Path, ports: Ports) -> Result<Self, Error> {
        let begun = Instant::now();
        let logs = root.join("logs");
        fs::create_dir_all(&logs).doing("creating", &logs)?;
        let authority = Authority::new(&root.join("pki"))?;
        let token_keys = authority.keys("service-accounts")?;
        let kubeconfig = root.join("admin.kubeconfig");
        let root = root.to_owned();
        let mut this = Self {
            root,
            place,
            ports,
            authority,
            token_keys,
            kubeconfig,
            api_server: Mutex::default(),
            kept: Mutex::default(),
            services: Vec::new(),
            started_in: Duration::ZERO,
        };
        let admin = this.authority.client("admin", "admin", Some("system:masters"))?;
        write_kubeconfig(&this.kubeconfig, &this.server(), &this.ca(), &admin.into())?;
        this.start_etcd()?;
        this.start_api_server()?;
        this.started_in = begun.elapsed();
        Ok(this)
    }

    /// The time until the API was ready.
    #[must_use]
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// The URL at which this process reaches kube-apiserver.
    #[must_use]
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.api_from_here)
    }

    /// The certificate authority of kube-apiserver and of all its clients.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.authority.certificate()
    }

    /// The authority itself, to sign further certificates.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// What kube-apiserver was asked since the control plane was started.
    #[must_use]
    pub fn audit_log(&self) -> AuditLog {
        AuditLog::new(self.root.join("audit"))
    }

    /// Starts kube-controller-manager, for default service accounts, garbage collection and the deletion of namespaces.
    pub fn start_controller_manager(&mut self) -> Result<(), Error> {
        self.begin_controller_manager()?;
        self.wait_for_controllers()
    }

    /// Starts kube-controller-manager, which takes seconds until [`Self::wait_for_controllers`] returns.
    pub(crate) fn begin_controller_manager(&mut self) -> Result<(), Error> {
        let kubeconfig =
            self.component_kubeconfig("controller-manager", "system:kube-controller-manager", None)?;
        let mut command = self.place.command("kube-controller-manager")?;
        command
            .arg(flag("kubeconfig", &kubeconfig))
            .arg(flag("service-account-private-key-file", &self.token_keys.private))
            .arg(flag("root-ca-file", &self.ca()))
            .args(["--use-service-account-credentials", "--leader-elect=false", "--secure-port=0"]);
        self.services.push(Service::start("kube-controller-manager", command, &self.root.join("logs"))?);
        Ok(())
    }

    /// Waits for the first thing that a workload needs from kube-controller-manager.
    pub(crate) fn wait_for_controllers(&self) -> Result<(), Error> {
        let log = Log::of(&self.root.join("logs"), "kube-controller-manager");
        wait_until("kube-controller-manager makes the default ServiceAccount", STARTS_WITHIN, || {
            match self.read("/api/v1/namespaces/default/serviceaccounts/default") {
                Ok(Some(_)) => Ok(()),
                answer => Err(format!("{answer:?}; its log ends with:\n{}", log.tail(3))),
            }
        })
    }

    /// Starts kube-scheduler, for Pods that do not name their node.
    pub fn start_scheduler(&mut self) -> Result<(), Error> {
        let kubeconfig = self.component_kubeconfig("scheduler", "system:kube-scheduler", None)?;
        let mut command = self.place.command("kube-scheduler")?;
        command.arg(flag("kubeconfig", &kubeconfig)).args(["--leader-elect=false", "--secure-port=0"]);
        self.services.push(Service::start("kube-scheduler", command, &self.root.join("logs"))?);
        Ok(())
    }

    fn start_etcd(&mut self) -> Result<(), Error> {
        let clients = format!("http://127.0.0.1:{}", self.ports.etcd);
        let peers = format!("http://127.0.0.1:{}", self.ports.etcd_peers);
        let mut command = self.place.command("etcd")?;
        command
            .arg(flag("data-dir", &self.root.join("etcd")))
            .arg(format!("--listen-client-urls={clients}"))
            .arg(format!("--advertise-client-urls={clients}"))
            .arg(format!("--listen-peer-urls={peers}"))
            .arg(format!("--initial-advertise-peer-urls={peers}"))
            .arg(format!("--initial-cluster=default={peers}"))
            // Nothing here has to survive a power cut.
            .arg("--unsafe-no-fsync");
        let mut service = Service::start("etcd", command, &self.root.join("logs"))?;
        service.wait_for_log("ready to serve client requests", STARTS_WITHIN)?;
        self.services.push(service);
        Ok(())
    }

    /// Stops kube-apiserver; connections are then refused.
    pub fn stop_api_server(&self) {
        self.set_api_server(None);
    }

    /// Starts kube-apiserver, and waits until it is ready.
    pub fn start_api_server(&self) -> Result<(), Error> {
        let admin = self.authority.client("admin", "admin", Some("system:masters"))?;
        let names = [
            "localhost",
            "127.0.0.1",
            "10.96.0.1",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
        ];
        let serving = self.authority.server("kube-apiserver", &names)?;
        let mut command = self.place.command("kube-apiserver")?;
        command
            .arg(format!("--etcd-servers=http://127.0.0.1:{}", self.ports.etcd))
            .arg(format!("--secure-port={}", self.ports.api))
            .args([
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                "--endpoint-reconciler-type=none",
            ])
            .args(["--service-cluster-ip-range=10.96.0.0/24", "--allow-privileged=true"])
            .args(["--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"])
            .arg(flag("client-ca-file", &self.ca()))
            .arg(flag("tls-cert-file", &serving.certificate))
            .arg(flag("tls-private-key-file", &serving.key))
            .arg(format!("--service-account-issuer={AUDIENCE}"))
            .arg(flag("service-account-key-file", &self.token_keys.public))
            .arg(flag("service-account-signing-key-file", &self.token_keys.private))
            // For `kubectl logs` and `exec`.
            .arg(flag("kubelet-client-certificate", &admin.certificate))
            .arg(flag("kubelet-client-key", &admin.key))
            .args(["--kubelet-preferred-address-types=InternalIP", "--v=2"])
            .args(self.audit_log().flags()?);
        let mut service = Service::start("kube-apiserver", command, &self.root.join("logs"))?;
        let kubectl = self.kubectl();
        service.wait("is ready", STARTS_WITHIN, || {
            kubectl.run(&["get", "--raw", "/readyz"]).map_err(|error| error.to_string())
        })?;
        self.set_api_server(Some(service));
        Ok(())
    }

    fn set_api_server(&self, service: Option<Service>) {
        *self.api_server.lock().unwrap_or_else(PoisonError::into_inner) = service;
    }
}

fn flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}
