//! A node whose first process is systemd: its units behave as on a real machine, and a Pod can restart them.

use std::{collections::BTreeSet, error::Error, fs, path::Path, time::Duration};

use pullwright_testkit::{
    image::Image,
    node::{Runtime, SystemdNode, UnitState},
    process::wait_until,
    programs::find,
    scenario::{PATIENCE, SystemdCase},
};
use serde_json::{Value, json};

use crate::at_hand;

type Outcome = Result<(), Box<dyn Error>>;

const EACH: &[Runtime] = &[Runtime::Containerd, Runtime::Crio];
const CONTAINERD: &[Runtime] = &[Runtime::Containerd];

pub(crate) const CASES: [SystemdCase; 7] = [
    SystemdCase { name: "systemd_restarts_a_killed_kubelet", runtimes: EACH, play: killed_kubelet },
    SystemdCase {
        name: "under_systemd_workloads_run_and_reach_the_api_server",
        runtimes: EACH,
        play: workloads,
    },
    SystemdCase {
        name: "under_systemd_restarted_units_leave_containers_running",
        runtimes: EACH,
        play: restarts,
    },
    SystemdCase {
        name: "under_systemd_a_pod_restarts_the_kubelet_and_survives",
        runtimes: EACH,
        play: from_a_pod,
    },
    SystemdCase {
        name: "under_systemd_a_pod_installs_a_unit_and_takes_it_back",
        runtimes: EACH,
        play: install,
    },
    SystemdCase {
        name: "under_systemd_the_node_survives_its_api_server",
        runtimes: CONTAINERD,
        play: api_server,
    },
    SystemdCase {
        name: "under_systemd_a_killed_node_leaves_nothing",
        runtimes: EACH,
        play: at_hand::killed_under_systemd,
    },
];

fn killed_kubelet(node: &SystemdNode<'_>) -> Outcome {
    let before = node.unit("kubelet.service")?;
    assert_eq!(before.active, "active");
    node.systemctl(&["kill", "--signal=KILL", "kubelet.service"])?;
    let after = other_run(node, "kubelet.service", &before)?;
    assert_eq!(after.n_restarts, before.n_restarts + 1);
    node.wait_ready()?;
    Ok(())
}

/// Workloads get Pods, and these reach the API server as in any cluster: on the node's network and on that of
/// Pods.
fn workloads(node: &SystemdNode<'_>) -> Outcome {
    let client = Image::running(&["/kubectl", "get", "--raw", "/readyz"]).user(65532);
    let client = node.load_image("client:1", &client.program("/kubectl", &find("kubectl")?)?)?;
    node.push("system", "workload:1")?;
    for (kind, host_network) in [("DaemonSet", true), ("Deployment", false)] {
        let mut pod = pod(&json!({"name": "main", "image": "127.0.0.1:4999/workload:1"}));
        pod["hostNetwork"] = host_network.into();
        pod["securityContext"] = json!({"runAsNonRoot": true});
        pod["containers"][0]["securityContext"] = json!({"runAsUser": 1000});
        pod["initContainers"] = json!([{"name": "client", "image": client}]);
        let labels = json!({"app": kind});
        let object = json!({
            "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "workload", "namespace": "default"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        });
        node.kubectl().apply(&object.to_string())?;
    }
    for kind in ["daemonset", "deployment"] {
        let patience = format!("--timeout={}s", PATIENCE.as_secs());
        node.kubectl().run(&["rollout", "status", &format!("{kind}/workload"), &patience])?;
    }
    Ok(())
}

fn restarts(node: &SystemdNode<'_>) -> Outcome {
    run(node, "steady", &node_image(node)?, &["/program"])?;
    let (steady, processes) = (container(node, "steady")?, processes_of_pods(node));
    assert!(!processes.is_empty());
    for unit in ["kubelet.service", node.runtime_unit()] {
        let before = node.unit(unit)?;
        node.systemctl(&["restart", unit])?;
        let after = other_run(node, unit, &before)?;
        // systemd counts only what it does by itself since it was last asked.
        assert_eq!(after.n_restarts, 0, "{unit}");
        node.wait_ready()?;
    }
    assert_eq!(container(node, "steady")?, steady);
    let left = processes_of_pods(node);
    assert!(left.is_superset(&processes), "{processes:?} before, {left:?} after");
    delete(node, "steady")
}

fn from_a_pod(node: &SystemdNode<'_>) -> Outcome {
    let before = node.unit("kubelet.service")?;
    let script = "set -e; systemctl daemon-reload; systemctl restart kubelet; touch /var/lib/from-a-pod; exec sleep infinity";
    run(node, "restarter", &node_image(node)?, &["/chroot", "/host", "/bin/sh", "-c", script])?;
    other_run(node, "kubelet.service", &before)?;
    wait_until("the Pod goes on", PATIENCE, || {
        let done = node.read("/var/lib/from-a-pod").map_err(|error| error.to_string())?;
        done.ok_or_else(|| "no file".to_owned())
    })?;
    node.wait_ready()?;
    let (_, restarts) = container(node, "restarter")?;
    assert_eq!(restarts, 0);
    delete(node, "restarter")
}

/// What the node agent does: files on the node by way of the Pod's mount of it, and systemd told of them.
fn install(node: &SystemdNode<'_>) -> Outcome {
    let folders = ["/etc", "/opt/extra", "/usr/lib/systemd/system"];
    let before = node.snapshot(&folders)?;
    let unit = "[Service]\\nExecStart=/bin/sleep infinity\\nPrivateTmp=yes\\n[Install]\\nWantedBy=multi-user.target\\n";
    let script = format!(
        "set -e; mkdir -p /opt/extra; echo 1 > /opt/extra/file; printf '{unit}' > /etc/systemd/system/extra.service; \
         systemctl daemon-reload; systemctl enable --now extra; touch /var/lib/installed; exec sleep infinity"
    );
    run(node, "installer", &node_image(node)?, &["/chroot", "/host", "/bin/sh", "-c", &script])?;
    wait_until("the unit runs", PATIENCE, || {
        let installed = node.read("/var/lib/installed").map_err(|error| error.to_string())?;
        let state = node.unit("extra.service").map_err(|error| error.to_string())?;
        if installed.is_some() && state.active == "active" { Ok(()) } else { Err(format!("{state:?}")) }
    })?;
    let with_unit = node.snapshot(&folders)?;
    let added: Vec<_> = with_unit.keys().filter(|path| !before.contains_key(*path)).collect();
    let expected = [
        "/etc/systemd/system/extra.service",
        "/etc/systemd/system/multi-user.target.wants/extra.service",
        "/opt/extra",
        "/opt/extra/file",
    ];
    assert_eq!(added, expected.map(Path::new));
    assert!(!Path::new("/opt/extra").exists() && !Path::new("/etc/systemd/system/extra.service").exists());

    node.systemctl(&["disable", "--now", "extra"])?;
    fs::remove_file(node.file("/etc/systemd/system/extra.service"))?;
    fs::remove_dir_all(node.file("/opt/extra"))?;
    node.systemctl(&["daemon-reload"])?;
    assert_eq!(node.snapshot(&folders)?, before);
    delete(node, "installer")
}

fn api_server(node: &SystemdNode<'_>) -> Outcome {
    let before = node.unit("kubelet.service")?;
    node.control_plane().stop_api_server();
    node.systemctl(&["restart", "kubelet.service"])?;
    other_run(node, "kubelet.service", &before)?;
    node.control_plane().start_api_server()?;
    Ok(node.wait_ready()?)
}

/// Waits until a unit runs again, and not as before.
fn other_run(node: &SystemdNode<'_>, unit: &str, before: &UnitState) -> Result<UnitState, Box<dyn Error>> {
    let after = wait_until(&format!("{unit} runs anew"), Duration::from_mins(1), || {
        let state = node.unit(unit).map_err(|error| error.to_string())?;
        let anew = state.active == "active" && state.invocation_id != before.invocation_id;
        if anew { Ok(state) } else { Err(format!("{state:?}")) }
    })?;
    assert!(after.main_pid != 0 && after.main_pid != before.main_pid, "{before:?}, {after:?}");
    Ok(after)
}

/// An image with the testkit's program, and with the one that makes the node's files a container's root.
fn node_image(node: &SystemdNode<'_>) -> Result<String, Box<dyn Error>> {
    let image = Image::running(&["/program"]).program("/chroot", &find("chroot")?)?;
    let image = image.program("/program", &node.root().join("program/program"))?;
    Ok(node.load_image("node-tools:1", &image)?)
}

/// Runs a Pod that may change the node, and waits until it is Ready.
fn run(node: &SystemdNode<'_>, name: &str, image: &str, command: &[&str]) -> Outcome {
    let mut spec = pod(&json!({
        "name": "main", "image": image, "command": command, "securityContext": {"privileged": true},
        "volumeMounts": [{"name": "host", "mountPath": "/host", "mountPropagation": "HostToContainer"}],
    }));
    spec["volumes"] = json!([{"name": "host", "hostPath": {"path": "/"}}]);
    spec["hostNetwork"] = true.into();
    // systemctl gives up if it cannot see the process that it talks to.
    spec["hostPID"] = true.into();
    let object = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    });
    node.kubectl().apply(&object.to_string())?;
    let (pod, patience) = (format!("pod/{name}"), format!("--timeout={}s", PATIENCE.as_secs()));
    node.kubectl().run(&["wait", &pod, "--for=condition=Ready", &patience])?;
    Ok(())
}

fn pod(container: &Value) -> Value {
    json!({"containers": [container], "terminationGracePeriodSeconds": 1, "tolerations": [{"operator": "Exists"}]})
}

fn delete(node: &SystemdNode<'_>, pod: &str) -> Outcome {
    node.kubectl().run(&["delete", "pod", pod, "--now"])?;
    Ok(())
}

/// The id of a Pod's container, and how often it was started again.
fn container(node: &SystemdNode<'_>, pod: &str) -> Result<(String, u64), Box<dyn Error>> {
    let pod = node.kubectl().json(&["get", "pod", pod])?;
    let status = &pod["status"]["containerStatuses"][0];
    let id = status["containerID"].as_str().ok_or("the container has no id")?;
    Ok((id.to_owned(), status["restartCount"].as_u64().unwrap_or_default()))
}

/// The processes of all containers.
fn processes_of_pods(node: &SystemdNode<'_>) -> BTreeSet<String> {
    let cgroups = at_hand::cgroups_of(node.root());
    cgroups.iter().flat_map(|cgroup| at_hand::processes_in(&cgroup.join("kubepods"))).collect()
}
