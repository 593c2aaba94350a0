//! A cluster with the operator's definitions and RBAC, and replicas of the operator in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use pullwright_testkit::control_plane::{AuditEntry, AuditMark, node};
use pullwright_testkit::process::{Kept, free_ports};
use pullwright_testkit::{Cable, ControlPlane, openshift};
use serde_json::{Value, json};

/// How long anything may take. It is generous: a machine under load is no reason to fail.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// What a cluster is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    Plain,
    OpenShift,
}

/// A cluster of its own for one test: the operator's objects are the cluster's, so tests cannot share one.
pub(crate) struct World {
    root: PathBuf,
    pub(crate) plane: ControlPlane,
}

/// A replica of the operator, started again whenever it ends, as the kubelet does.
pub(crate) struct Replica {
    /// Its name; the identity of each of its lives begins with it.
    pub(crate) name: String,
    pub(crate) process: Kept,
    /// Where it serves `/readyz` and `/metrics`.
    pub(crate) port: u16,
}

impl World {
    /// Starts a control plane with everything below `deploy` that the operator needs.
    pub(crate) fn new(test: &str, flavour: Flavour) -> Self {
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("operator").join(test);
        if root.exists() {
            fs::remove_dir_all(&root).unwrap();
        }
        fs::create_dir_all(root.join("logs")).unwrap();
        let plane = ControlPlane::start(&root.join("plane")).unwrap();
        let world = Self { root, plane };
        world.apply(&deployed("crds"));
        if flavour == Flavour::OpenShift {
            world.apply(&openshift::definitions());
        }
        world.kubectl(&["wait", "--for=condition=Established", "--timeout=120s", "crds", "--all"]);
        for file in ["namespace", "rbac"] {
            world.apply(&operator_manifest(file));
        }
        if flavour == Flavour::OpenShift {
            world.apply(&operator_manifest("rbac-machine-config"));
        }
        world
    }

    /// Where a test may keep files.
    pub(crate) fn folder(&self) -> &Path {
        &self.root
    }

    /// Starts a replica with the operator's own service account.
    pub(crate) fn start(&self, name: &str, arguments: &[&str]) -> Replica {
        self.start_through(name, None, arguments)
    }

    /// The same, behind a cable that can be cut.
    pub(crate) fn start_through(&self, name: &str, cable: Option<&Cable>, arguments: &[&str]) -> Replica {
        let account = ("pullwright-system", "pullwright-operator");
        let kubeconfig = self.plane.service_account_kubeconfig(account.0, account.1, cable).unwrap();
        // Each replica has a file of its own, since they may reach the API server in different ways.
        let own = self.root.join(format!("{name}.kubeconfig"));
        fs::copy(&kubeconfig, &own).unwrap();
        let [port] = free_ports().unwrap();
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let host = name.to_owned();
        let command = move || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pullwright-operator"));
            command.env("HOSTNAME", &host).arg("--kubeconfig").arg(&own);
            // Most tests have no agents, and count writes. Those about roll-outs say how fast.
            command.env("PULLWRIGHT_OPERATOR_MAX_UNAVAILABLE", "0");
            command.arg(format!("--listen=127.0.0.1:{port}")).args(&arguments);
            Ok(command)
        };
        let process = Kept::start(name, &self.root.join("logs"), Duration::from_secs(1), command).unwrap();
        Replica { name: name.to_owned(), process, port }
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.plane.kubectl().run(arguments).unwrap()
    }

    pub(crate) fn apply(&self, documents: &str) {
        self.plane.kubectl().apply(documents).unwrap();
    }

    pub(crate) fn apply_object(&self, object: &Value) {
        self.plane.apply_object(object).unwrap();
    }

    /// An object of the cluster, by its kind's plural or singular name. It may be asked for often, so it does not take a `kubectl`.
    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<Value> {
        self.plane.read(&format!("{}/{name}", collection(kind))).ok().flatten()
    }

    /// The items of a kind of the cluster.
    pub(crate) fn list(&self, kind: &str) -> Vec<Value> {
        // An API server that has just started puts callers off.
        let list =
            eventually("the API server to answer", || self.plane.read(collection(kind))).unwrap_or_default();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// A condition of an object.
    pub(crate) fn condition(&self, kind: &str, name: &str, type_: &str) -> Option<Value> {
        condition(&self.get(kind, name)?, type_)
    }

    /// Waits for a condition to have this status and reason, and returns its message.
    pub(crate) fn wait_for_condition(
        &self,
        kind: &str,
        name: &str,
        type_: &str,
        status: &str,
        reason: &str,
    ) -> String {
        let generation = |object: &Value| object["metadata"]["generation"].clone();
        eventually(&format!("{kind}/{name} to be {type_}={status}, {reason}"), || {
            let object = self.get(kind, name).ok_or("it is not there")?;
            let found = condition(&object, type_).ok_or("it has no such condition")?;
            let matches = found["status"] == status
                && found["reason"] == reason
                && found["observedGeneration"] == generation(&object);
            if matches { Ok(found["message"].as_str().unwrap().to_owned()) } else { Err(format!("{found}")) }
        })
    }

    /// Makes Nodes that a kubelet would have made: their runtime, and the cloud they are in.
    pub(crate) fn nodes(&self, names: &[&str], runtime: &str, provider_id: &str) {
        let nodes: Vec<Value> =
            names.iter().map(|name| node(name, runtime, provider_id, "v1.36.3")).collect();
        self.plane.create_many(nodes.iter().cloned()).unwrap();
        self.plane.set_status_of_many(nodes.into_iter()).unwrap();
    }

    pub(crate) fn mark(&self) -> AuditMark {
        self.plane.audit_log().mark()
    }

    /// The operator's writes since then, without those of its Lease.
    pub(crate) fn writes_since(&self, mark: AuditMark) -> Vec<AuditEntry> {
        let entries = self.plane.audit_log().since(mark).unwrap();
        let ours =
            |entry: &AuditEntry| entry.user_agent.starts_with("pullwright-operator/") && entry.is_write();
        entries
            .into_iter()
            .filter(|entry| ours(entry) && entry.resource.as_deref() != Some("leases.coordination.k8s.io"))
            .collect()
    }
}

/// Repeats `attempt` until it succeeds.
pub(crate) fn eventually<T, E: std::fmt::Display>(
    what: &str,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(why) if Instant::now() > deadline => panic!("waited for {what}: {why}"),
            Err(_) => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

fn condition(object: &Value, type_: &str) -> Option<Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == type_).cloned()
}

/// The path of all objects of a kind.
fn collection(kind: &str) -> &'static str {
    match kind.trim_end_matches('s') {
        "criocredentialproviderconfig" => "/apis/config.openshift.io/v1/criocredentialproviderconfigs",
        "imagedigestmirrorset" => "/apis/config.openshift.io/v1/imagedigestmirrorsets",
        "imagetagmirrorset" => "/apis/config.openshift.io/v1/imagetagmirrorsets",
        "imagecontentsourcepolicy" | "imagecontentsourcepolicie" => {
            "/apis/operator.openshift.io/v1alpha1/imagecontentsourcepolicies"
        }
        "machineconfig" => "/apis/machineconfiguration.openshift.io/v1/machineconfigs",
        "nodeconfiguration" => "/apis/pullwright.dev/v1alpha1/nodeconfigurations",
        "nodestate" => "/apis/pullwright.dev/v1alpha1/nodestates",
        "event" | "events.events.k8s.io" => "/apis/events.k8s.io/v1/events",
        other => panic!("say where {other} is"),
    }
}

/// An `ImageDigestMirrorSet` with one rule.
pub(crate) fn digest_mirror_set(name: &str, source: &str, mirrors: &[&str]) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet", "metadata": {"name": name},
        "spec": {"imageDigestMirrors": [{"source": source, "mirrors": mirrors}]},
    })
}

/// `CRIOCredentialProviderConfig/cluster`.
pub(crate) fn provider_config(images: &[&str]) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "CRIOCredentialProviderConfig", "metadata": {"name": "cluster"},
        "spec": {"matchImages": images},
    })
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All manifests of a folder below `deploy`.
fn deployed(folder: &str) -> String {
    let folder = repository().join("deploy").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect::<Vec<_>>().join("\n---\n")
}

/// The definition of a kind.
pub(crate) fn definition(name: &str) -> String {
    fs::read_to_string(repository().join(format!("deploy/crds/{name}.yaml"))).unwrap()
}

pub(crate) fn operator_manifest(name: &str) -> String {
    fs::read_to_string(repository().join(format!("deploy/operator/{name}.yaml"))).unwrap()
}

pub(crate) fn agent_manifest(name: &str) -> String {
    fs::read_to_string(repository().join(format!("deploy/agent/{name}.yaml"))).unwrap()
}
