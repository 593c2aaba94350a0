//! What an agent may do with its token: write the status of its own node's `NodeState`, and nothing else. RBAC and policy as shipped.

use std::fs;
use std::path::PathBuf;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use pullwright_testkit::kubectl::Kubectl;
use serde_json::{Value, json};

use crate::world::{Flavour, World, agent_manifest, eventually};

pub(crate) const NAMESPACE: &str = "pullwright-agent";
pub(crate) const AGENT: &str = "pullwright-agent";
/// What the policy says, as opposed to RBAC.
const POLICY: &str = "ValidatingAdmissionPolicy 'pullwright-agent'";

/// A cluster with two nodes, an agent's Pod and a `NodeState` on each.
fn world(test: &str) -> World {
    let world = World::new(test, Flavour::Plain);
    for manifest in ["namespace", "rbac", "admission-policy"] {
        world.apply(&agent_manifest(manifest));
    }
    world.nodes(&["a", "b"], "cri-o://1.36.3", "");
    for node in ["a", "b"] {
        world.apply_object(&state(node));
        world.apply_object(&pod(&format!("agent-{node}"), AGENT, Some(node)));
    }
    world
}

fn state(node: &str) -> Value {
    json!({
        "apiVersion": "pullwright.dev/v1alpha1", "kind": "NodeState", "metadata": {"name": node},
        "spec": {"configuration": "crio-0123456789"},
    })
}

pub(crate) fn pod(name: &str, account: &str, node: Option<&str>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "serviceAccountName": account, "nodeName": node,
            // What it may do on the node does not matter here.
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "agent", "image": "agent", "securityContext": {
                "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
            }}],
        },
    })
}

impl World {
    /// Somebody with a token of a service account. With a Pod, the token is bound to it, as those are that kubelets request.
    pub(crate) fn agent(&self, account: &str, pod: Option<&str>) -> Agent {
        let kubeconfig = match pod {
            Some(pod) => self.plane.pod_kubeconfig(NAMESPACE, account, pod),
            None => self.plane.service_account_kubeconfig(NAMESPACE, account, None),
        }
        .unwrap();
        Agent { kubectl: Kubectl::new(&kubeconfig), kubeconfig }
    }
}

/// Somebody who uses the API.
pub(crate) struct Agent {
    kubectl: Kubectl,
    pub(crate) kubeconfig: PathBuf,
}

impl Agent {
    /// Sends one request about `NodeState`s. Returns why it was refused.
    fn send(&self, method: &str, path: &str, kind: &str, body: &Value) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(&self.kubeconfig).unwrap();
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
            let request = hyper::Request::builder()
                .method(method)
                .uri(format!("/apis/pullwright.dev/v1alpha1/nodestates{path}"))
                .header("Content-Type", kind)
                .body(body.to_string().into_bytes())
                .unwrap();
            let client = Client::try_from(config).unwrap();
            client.request::<Value>(request).await.map(drop).map_err(|error| error.to_string())
        })
    }
}

/// The ways in which the API takes a status, by their media types.
const WAYS: [&str; 3] =
    ["application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"];
const MERGE: &str = WAYS[0];

/// Sets the status of a node's object with one request, as agents do. `kubectl` reads it first, which they may not.
fn report(agent: &Agent, node: &str, way: &str) -> Result<(), String> {
    let status = json!({"configuration": "crio-0123456789"});
    let body = match way {
        MERGE => json!({"status": status}),
        "application/json-patch+json" => json!([{"op": "add", "path": "/status", "value": status}]),
        _ => json!({
            "apiVersion": "pullwright.dev/v1alpha1", "kind": "NodeState", "metadata": {"name": node},
            "status": status,
        }),
    };
    agent.send("PATCH", &format!("/{node}/status?fieldManager=pullwright-agent"), way, &body)
}

/// Waits until the API server has taken note of the policy, which takes it a moment.
fn wait_for_policy(agent: &Agent) {
    eventually("the policy to be in force", || match report(agent, "b", MERGE) {
        Err(why) if why.contains(POLICY) => Ok(()),
        other => Err(format!("{other:?}")),
    });
}

#[test]
fn an_agent_can_write_the_status_of_its_own_node_and_nothing_else() {
    let world = world("agent_access");
    let agent = world.agent(AGENT, Some("agent-a"));
    wait_for_policy(&agent);
    for way in WAYS {
        assert_eq!(report(&agent, "a", way), Ok(()), "{way}");
        let why = report(&agent, "b", way).unwrap_err();
        assert!(why.contains(POLICY) && why.contains("for node a"), "{way}: {why}");
    }
    let file = world.folder().join("state.json");
    fs::write(&file, state("c").to_string()).unwrap();
    let file = file.display().to_string();
    let spec = r#"{"spec": {"configuration": "crio-9876543210"}}"#;
    for forbidden in [
        vec!["patch", "nodestate", "a", "--type=merge", "--patch", spec],
        vec!["delete", "nodestate", "a"],
        vec!["delete", "nodestates", "--all"],
        vec!["create", "--filename", &file],
        vec!["apply", "--server-side", "--filename", &file],
        vec!["label", "node", "a", "x=y"],
        vec!["get", "secrets", "--all-namespaces"],
        vec!["create", "token", AGENT, "--namespace", NAMESPACE],
        vec!["get", "nodestates", "--as-user-extra=authentication.kubernetes.io/node-name=b", "--as=x"],
    ] {
        let why = agent.kubectl.run(&forbidden).unwrap_err().to_string();
        assert!(why.contains("cannot"), "{forbidden:?}: {why}");
    }
    // A patch of the status leaves the spec alone, whatever it says.
    let both = json!({"spec": {"configuration": "crio-9876543210"}, "status": {"observedGeneration": 1}});
    agent.send("PATCH", "/a/status", MERGE, &both).unwrap();
    assert_eq!(world.get("nodestate", "a").unwrap()["spec"]["configuration"], "crio-0123456789");
    for allowed in [
        vec!["get", "nodestate", "a"],
        vec!["get", "nodestates"],
        vec!["get", "node", "a"],
        vec!["auth", "can-i", "get", "nodes/metrics"],
        vec!["auth", "can-i", "get", "nodeconfigurations"],
    ] {
        agent.kubectl.run(&allowed).unwrap();
    }

    tokens_without_the_name_of_the_node_write_nothing(&world);
    the_policy_holds_whatever_rbac_grants(&world, &agent);
}

fn tokens_without_the_name_of_the_node_write_nothing(world: &World) {
    world.apply_object(&pod("nowhere", AGENT, None));
    for pod in [None, Some("nowhere")] {
        let agent = world.agent(AGENT, pod);
        for node in ["a", "b"] {
            let why = report(&agent, node, MERGE).unwrap_err();
            assert!(why.contains(POLICY), "{pod:?}: {why}");
        }
    }
    // The agent of the other node, with the same account.
    let other = world.agent(AGENT, Some("agent-b"));
    assert_eq!(report(&other, "b", WAYS[2]), Ok(()));
    assert!(report(&other, "a", WAYS[2]).unwrap_err().contains(POLICY));
    // A token goes with its Pod.
    world.kubectl(&["delete", "pod", "agent-b", "--namespace", NAMESPACE, "--force", "--grace-period=0"]);
    eventually("the token to be void", || match report(&other, "b", MERGE) {
        Err(_) => Ok(()),
        Ok(()) => Err("it still works"),
    });
}

/// Somebody gives the agents too much; also, an account that has nothing to do with agents.
fn the_policy_holds_whatever_rbac_grants(world: &World, agent: &Agent) {
    world.apply(
        r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: too-much}
rules: [{apiGroups: ["pullwright.dev"], resources: ["nodestates", "nodestates/status"], verbs: ["*"]}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: other, namespace: pullwright-agent}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: too-much}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: too-much}
subjects:
  - {kind: ServiceAccount, name: pullwright-agent, namespace: pullwright-agent}
  - {kind: ServiceAccount, name: other, namespace: pullwright-agent}
"#,
    );
    eventually("RBAC to be in force", || agent.kubectl.run(&["auth", "can-i", "delete", "nodestates"]));
    let spec = r#"{"spec": {"configuration": "crio-9876543210"}}"#;
    let file = world.folder().join("state.json").display().to_string();
    for (what, arguments) in [
        ("its own spec", vec!["patch", "nodestate", "a", "--type=merge", "--patch", spec]),
        ("another spec", vec!["patch", "nodestate", "b", "--type=merge", "--patch", spec]),
        ("its own object", vec!["delete", "nodestate", "a"]),
        ("another object", vec!["delete", "nodestate", "b"]),
        ("all objects", vec!["delete", "--raw", "/apis/pullwright.dev/v1alpha1/nodestates"]),
        ("a new object", vec!["create", "--filename", &file]),
    ] {
        let why = agent.kubectl.run(&arguments).unwrap_err().to_string();
        assert!(why.contains(POLICY), "{what}: {why}");
    }
    assert_eq!(world.list("nodestates").len(), 2, "nothing is gone and nothing came");

    world.apply_object(&pod("other-a", "other", Some("a")));
    for pod in [None, Some("other-a")] {
        let other = world.agent("other", pod);
        assert_eq!(report(&other, "b", MERGE), Ok(()), "{pod:?}");
        other.kubectl.run(&["patch", "nodestate", "b", "--type=merge", "--patch", spec]).unwrap();
    }
}
