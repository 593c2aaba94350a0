//! A control plane with the objects of a large cluster, and the operator in it with its own RBAC.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use pullwright_testkit::ControlPlane;
pub(super) use pullwright_testkit::control_plane::AuditMark as Mark;
use pullwright_testkit::control_plane::{AuditEntry, node};
use pullwright_testkit::process::{Service, free_ports};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::report::Calls;
use super::{IMAGES, MIRROR_SETS, NODES};
use crate::usage;

/// How long the operator may take for anything. It is generous, since a machine under load is no reason to fail.
const PATIENCE: Duration = Duration::from_mins(10);

pub(super) struct Cluster {
    plane: ControlPlane,
    folder: TempDir,
}

/// The operator.
pub(super) struct Replica {
    service: Service,
}

impl Cluster {
    pub(super) fn start() -> Result<Self> {
        let folder = tempfile::tempdir().context("a folder for the benchmark")?;
        eprintln!("  starting etcd and kube-apiserver");
        let plane = ControlPlane::start(&folder.path().join("plane"))?;
        let mut definitions: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(deploy("crds")).context("the definitions")? {
            definitions.push(entry?.path());
        }
        for file in
            definitions.into_iter().chain([deploy("operator/namespace.yaml"), deploy("operator/rbac.yaml")])
        {
            let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
            plane.kubectl().apply(&text)?;
        }
        plane.kubectl().run(&["wait", "--for=condition=Established", "--timeout=120s", "crds", "--all"])?;
        eprintln!("  creating {MIRROR_SETS} mirror sets, {NODES} Nodes and as many NodeStates");
        plane.create_many((0..MIRROR_SETS).map(|number| mirror_set(number, "mirror")))?;
        plane.create_many((0..NODES).map(|number| {
            let runtime = if number % 2 == 0 { "cri-o://1.36.3" } else { "containerd://2.4.2" };
            node(&node_name(number), runtime, "", "v1.36.3")
        }))?;
        plane.create_many((0..NODES).map(|number| node_state(number, None)))?;
        let images: Vec<String> =
            (0..IMAGES).map(|number| format!("registry-{number}.example.com")).collect();
        plane.create_many(std::iter::once(json!({
            "apiVersion": "config.openshift.io/v1", "kind": "CRIOCredentialProviderConfig",
            "metadata": {"name": "cluster"}, "spec": {"matchImages": images},
        })))?;
        Ok(Self { plane, folder })
    }

    /// Starts the operator.
    pub(super) fn operator(&self, program: &Path) -> Result<Replica> {
        let kubeconfig =
            self.plane.service_account_kubeconfig("pullwright-system", "pullwright-operator", None)?;
        let [port] = free_ports()?;
        let mut command = Command::new(program);
        command.arg("--kubeconfig").arg(kubeconfig).arg(format!("--listen=127.0.0.1:{port}"));
        // There are no agents; roll-outs are simulated.
        command.arg("--max-unavailable=0");
        Ok(Replica { service: Service::start("pullwright-operator", command, self.folder.path())? })
    }

    pub(super) fn mark(&self) -> Mark {
        self.plane.audit_log().mark()
    }

    /// Waits until the operator has written at least so often and then not for the time of `quiet`. Returns the seconds from `begun` to
    /// its last write.
    pub(super) fn quiet_after(
        &self,
        replica: &Replica,
        mark: Mark,
        at_least: usize,
        begun: Instant,
        quiet: Duration,
    ) -> Result<f64> {
        let (mut seen, mut last) = (0, Instant::now());
        while seen < at_least || last.elapsed() < quiet {
            if begun.elapsed() > PATIENCE {
                let log = replica.service.log().tail(10);
                bail!(
                    "the operator wrote {seen} times, and should {at_least} times and then rest; its log:\n{log}"
                );
            }
            std::thread::sleep(Duration::from_millis(500));
            let writes = self.calls_since(mark)?.writes("");
            if writes != seen {
                (seen, last) = (writes, Instant::now());
            }
        }
        Ok(last.duration_since(begun).as_secs_f64())
    }

    /// The operator's calls.
    pub(super) fn calls_since(&self, mark: Mark) -> Result<Calls> {
        let entries = self.plane.audit_log().since(mark)?;
        let ours = |entry: &&AuditEntry| entry.user_agent.starts_with("pullwright-operator/");
        Ok(entries.iter().filter(ours).collect())
    }

    pub(super) fn change_a_mirror_set(&self) -> Result<()> {
        Ok(self.plane.kubectl().apply(&mirror_set(0, "another-mirror").to_string())?)
    }

    /// Has nodes report that they have what they should have.
    pub(super) fn report_nodes(&self, count: usize) -> Result<()> {
        let list = self.plane.kubectl().json(&["get", "nodeconfigurations"])?;
        let names = list["items"].as_array().into_iter().flatten();
        let name = names
            .filter_map(|object| object["metadata"]["name"].as_str())
            .find(|name| name.starts_with("crio-"));
        let name = name.context("there is no NodeConfiguration for CRI-O")?;
        // Every other node has CRI-O.
        let states: Vec<Value> = (0..count).map(|number| node_state(2 * number, Some(name))).collect();
        for state in &states {
            self.plane.apply_object(&json!({
                "apiVersion": state["apiVersion"], "kind": state["kind"], "metadata": state["metadata"],
                "spec": {"configuration": name},
            }))?;
        }
        self.plane.set_status_of_many(states.into_iter())?;
        Ok(())
    }
}

impl Replica {
    pub(super) fn memory(&self) -> Result<u64> {
        usage::memory(self.service.id())
    }

    pub(super) fn peak_memory(&self) -> Result<u64> {
        usage::peak_memory(self.service.id())
    }

    /// Its CPU time so far; it works on one thread.
    pub(super) fn cpu(&self) -> Result<Duration> {
        usage::cpu(self.service.id())
    }
}

fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(path)
}

fn node_name(number: usize) -> String {
    format!("node-{number}")
}

/// An object for a node that was told nothing; with a configuration, the node was then told to have it, and reports that it has.
fn node_state(number: usize, configuration: Option<&str>) -> Value {
    let status = configuration.map(|name| {
        json!({"observedGeneration": 2, "configuration": name, "conditions": [{
            "type": "Ready", "status": "True", "reason": "Applied", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]})
    });
    json!({
        "apiVersion": "pullwright.dev/v1alpha1", "kind": "NodeState", "metadata": {"name": node_name(number)},
        "spec": {}, "status": status,
    })
}

fn mirror_set(number: usize, mirror: &str) -> Value {
    let (source, mirror) = (format!("quay.io/team-{number}"), format!("{mirror}.example.com/team-{number}"));
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet",
        "metadata": {"name": format!("team-{number}")},
        "spec": {"imageDigestMirrors": [{"source": source, "mirrors": [mirror]}]},
    })
}
