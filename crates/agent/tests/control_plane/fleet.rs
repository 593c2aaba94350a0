//! A control plane, the operator, and an agent for each of some nodes that are only folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pullwright_testkit::ControlPlane;
use pullwright_testkit::control_plane::node;
use pullwright_testkit::process::{Kept, free_ports, wait_until};
use pullwright_testkit::programs::find;
use serde_json::{Value, json};

use crate::{HOSTS, PATIENCE};

pub(crate) struct Fleet {
    root: PathBuf,
    names: Vec<&'static str>,
    _processes: Vec<Kept>,
    plane: ControlPlane,
}

/// What a node should have, and how it stands with that.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) desired: Option<String>,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl Fleet {
    pub(crate) fn start(test: &str, names: &[&'static str], operator: &[&str]) -> Self {
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fleet").join(test);
        if root.exists() {
            fs::remove_dir_all(&root).unwrap();
        }
        let logs = root.join("logs");
        fs::create_dir_all(&logs).unwrap();
        let plane = ControlPlane::start(&root.join("plane")).unwrap();
        for manifest in fs::read_dir(deploy("crds")).unwrap() {
            apply(&plane, &manifest.unwrap().path());
        }
        plane
            .kubectl()
            .run(&["wait", "--for=condition=Established", "--timeout=120s", "crds", "--all"])
            .unwrap();
        for manifest in
            ["operator/namespace", "operator/rbac", "agent/namespace", "agent/rbac", "agent/admission-policy"]
        {
            apply(&plane, &deploy(&format!("{manifest}.yaml")));
        }
        plane.create_many(names.iter().map(|name| node(name, "containerd://2.4.2", "", "v1.36.3"))).unwrap();
        let mut processes = Vec::new();
        let kubeconfig =
            plane.service_account_kubeconfig("pullwright-system", "pullwright-operator", None).unwrap();
        let (arguments, [port]) = (operator.join(" "), free_ports().unwrap());
        processes.push(keep("operator", &logs, find("pullwright-operator").unwrap(), move |command| {
            command.arg("--kubeconfig").arg(&kubeconfig).arg(format!("--listen=127.0.0.1:{port}"));
            command.args(arguments.split(' '));
        }));
        for name in names {
            let folder = root.join("nodes").join(name);
            fs::create_dir_all(folder.join("var/lib")).unwrap();
            plane.apply_object(&pod(name)).unwrap();
            let account = "pullwright-agent";
            let kubeconfig = plane.pod_kubeconfig(account, account, &format!("agent-{name}")).unwrap();
            let ([port], program) =
                (free_ports().unwrap(), PathBuf::from(env!("CARGO_BIN_EXE_pullwright-agent")));
            let name = (*name).to_owned();
            processes.push(keep(&format!("agent-{name}"), &logs, program, move |command| {
                command.arg("--kubeconfig").arg(&kubeconfig).arg("--root").arg(&folder);
                command.args(["--node", &name, &format!("--listen=127.0.0.1:{port}")]);
            }));
        }
        Self { root, names: names.to_vec(), _processes: processes, plane }
    }

    pub(crate) fn nodes(&self) -> Vec<&'static str> {
        self.names.clone()
    }

    /// A file of a node.
    pub(crate) fn file(&self, node: &str, path: &str) -> PathBuf {
        self.root.join("nodes").join(node).join(path)
    }

    pub(crate) fn mirror(&self, name: &str) {
        let set = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ImageTagMirrorSet", "metadata": {"name": "quay"},
            "spec": {"imageTagMirrors": [{"source": "quay.io", "mirrors": [format!("{name}.example.com")]}]},
        });
        self.plane.apply_object(&set).unwrap();
    }

    pub(crate) fn without_mirror(&self) {
        self.plane.kubectl().run(&["delete", "imagetagmirrorset", "quay"]).unwrap();
    }

    pub(crate) fn wait_until_all_have(&self, wanted: impl Fn(&str) -> bool) {
        wait_until("every node has the mirror", PATIENCE, || {
            let has =
                |node: &&&str| fs::read_to_string(self.file(node, HOSTS)).is_ok_and(|text| wanted(&text));
            let without: Vec<_> = self.names.iter().filter(|node| !has(node)).collect();
            let waiting: Vec<_> =
                self.states().into_iter().filter(|state| state.reason != "Applied").collect();
            if without.is_empty() && waiting.is_empty() {
                Ok(())
            } else {
                Err(format!("{without:?}, {waiting:?}"))
            }
        })
        .unwrap();
    }

    pub(crate) fn states(&self) -> Vec<State> {
        let list = self.plane.kubectl().json(&["get", "nodestates"]).unwrap();
        list["items"].as_array().unwrap().iter().map(State::read).collect()
    }

    pub(crate) fn configurations(&self) -> Vec<(String, String)> {
        let list = self.plane.kubectl().json(&["get", "nodeconfigurations"]).unwrap();
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| (item["metadata"]["name"].as_str().unwrap().to_owned(), item["spec"].to_string()))
            .collect()
    }

    /// How many nodes were on their way after each time that the operator told one, in the order of the audit log: from the
    /// operator's write of a node's object until its agent said that it is done.
    pub(crate) fn told_together(&self) -> Vec<usize> {
        // Whether its agent has said that it begins: it writes twice for each change.
        let (mut on_their_way, mut counts) = (BTreeMap::new(), Vec::new());
        for (who, node) in self.node_state_writes() {
            if who == "operator" {
                on_their_way.insert(node, false);
                counts.push(on_their_way.len());
            } else if on_their_way.get(&node) == Some(&false) {
                on_their_way.insert(node, true);
            } else {
                on_their_way.remove(&node);
            }
        }
        counts
    }

    /// Who successfully wrote which node's object, in order.
    fn node_state_writes(&self) -> Vec<(&'static str, String)> {
        let entries = self.plane.audit_log().entries().unwrap();
        let writes = entries.iter().filter(|entry| {
            entry.is_write()
                && entry.succeeded()
                && entry.resource.as_deref() == Some("nodestates.pullwright.dev")
        });
        let who = |agent: &str| if agent.starts_with("pullwright-operator/") { "operator" } else { "agent" };
        writes.filter_map(|entry| Some((who(&entry.user_agent), entry.name.clone()?))).collect()
    }

    /// The node that was told first.
    pub(crate) fn canary(&self) -> &'static str {
        let writes = self.node_state_writes();
        let (_, first) = writes.iter().find(|(who, _)| *who == "operator").unwrap();
        self.names.iter().find(|name| *name == first).copied().unwrap()
    }
}

impl State {
    fn read(object: &Value) -> Self {
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready").unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            desired: object["spec"]["configuration"].as_str().map(str::to_owned),
            reason: text(&ready["reason"]),
            message: text(&ready["message"]),
        }
    }
}

fn keep(
    name: &str,
    logs: &Path,
    program: PathBuf,
    arguments: impl Fn(&mut Command) + Send + 'static,
) -> Kept {
    let command = move || {
        let mut command = Command::new(&program);
        arguments(&mut command);
        Ok(command)
    };
    Kept::start(name, logs, Duration::from_secs(1), command).unwrap()
}

fn pod(node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("agent-{node}"), "namespace": "pullwright-agent"},
        "spec": {
            "serviceAccountName": "pullwright-agent", "nodeName": node,
            "containers": [{"name": "agent", "image": "agent"}],
        },
    })
}

fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(path)
}

fn apply(plane: &ControlPlane, path: &Path) {
    plane.kubectl().apply(&fs::read_to_string(path).unwrap()).unwrap();
}
