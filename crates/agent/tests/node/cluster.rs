//! The cluster as its administrator sees it: installs Pullwright, applies objects, looks at what became of them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pullwright_testkit::image::Image;
use pullwright_testkit::node::{NAME, SystemdNode};
use pullwright_testkit::process::wait_until;
use pullwright_testkit::programs::find;
use pullwright_testkit::scenario::{PATIENCE, base64};
use serde_json::{Value, json};

use crate::LOGIN;

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What an update on the node may change, and has to give back.
pub(crate) const FOLDERS: [&str; 4] = ["/etc", "/opt/pullwright", "/usr/lib/systemd", "/var/lib/pullwright"];

/// The cluster of a node.
pub(crate) struct Cluster<'n, 'r>(pub(crate) &'n SystemdNode<'r>);

impl Cluster<'_, '_> {
    /// Installs operator and agent from the manifests, with images in the node's own registry.
    pub(crate) fn install(&self) -> Outcome {
        let operator = Image::running(&["/usr/bin/pullwright-operator"]).user(65_532);
        let operator =
            operator.program("/usr/bin/pullwright-operator", &self.stripped("pullwright-operator")?)?;
        self.0.load_image("pullwright-operator:0.1.0", &operator)?;
        self.load_agent("0.1.0", "")?;
        self.apply_all("crds")?;
        self.kubectl(&["wait", "--for=condition=Established", "--timeout=120s", "crds", "--all"])?;
        for file in ["namespace", "rbac", "rbac-namespaces", "deployment"] {
            self.apply_manifest(&format!("operator/{file}.yaml"))?;
        }
        self.apply_manifest("plugin/nodes-may-request-tokens.yaml")?;
        for file in ["namespace", "rbac", "admission-policy", "daemonset"] {
            self.apply_manifest(&format!("agent/{file}.yaml"))?;
        }
        self.rolled_out("pullwright-system", "deployment/pullwright-operator")?;
        self.rolled_out("pullwright-agent", "daemonset/pullwright-agent")
    }

    /// Pushes an image of the agent whose programs for the node have `extra` behind their end, which makes them other files.
    pub(crate) fn load_agent(&self, tag: &str, extra: &str) -> Outcome<String> {
        let image = Image::running(&["/usr/bin/pullwright-agent"]);
        let mut image = image.program("/usr/bin/pullwright-agent", &self.stripped("pullwright-agent")?)?;
        for program in ["crio-credential-provider", "pullwright-images"] {
            let stripped = self.stripped(program)?;
            let with_extra = stripped.with_file_name(format!("{program}-{tag}"));
            let mut content = fs::read(&stripped)?;
            content.extend(extra.as_bytes());
            fs::write(&with_extra, content)?;
            // What goes to the node finds its libraries there.
            image = image.file(&format!("/usr/libexec/pullwright/{program}"), &with_extra, 0o755);
        }
        Ok(self.0.load_image(&format!("pullwright-agent:{tag}"), &image)?)
    }

    /// A program of ours without what only debuggers read, which would fill the node's memory.
    fn stripped(&self, program: &str) -> Outcome<PathBuf> {
        let folder = self.0.root().join("stripped");
        fs::create_dir_all(&folder)?;
        let to = folder.join(program);
        if !to.exists() {
            let status = Command::new("strip").arg("-o").arg(&to).arg(find(program)?).status()?;
            assert!(status.success(), "strip {program}: {status}");
        }
        Ok(to)
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Outcome<String> {
        Ok(self.0.kubectl().run(arguments)?)
    }

    pub(crate) fn apply(&self, object: &Value) -> Outcome {
        Ok(self.0.kubectl().apply(&object.to_string())?)
    }

    pub(crate) fn get(&self, what: &[&str]) -> Outcome<Value> {
        Ok(self.0.kubectl().json(&[&["get"], what].concat())?)
    }

    fn apply_all(&self, folder: &str) -> Outcome {
        for file in fs::read_dir(deploy().join(folder))? {
            self.0.kubectl().apply(&fs::read_to_string(file?.path())?)?;
        }
        Ok(())
    }

    /// Applies a manifest with the images from the registry that this cluster has, as every administrator sets his own.
    fn apply_manifest(&self, path: &str) -> Outcome {
        let text = fs::read_to_string(deploy().join(path))?
            .replace("image: pullwright-", "image: 127.0.0.1:4999/pullwright-");
        Ok(self.0.kubectl().apply(&text)?)
    }

    pub(crate) fn rolled_out(&self, namespace: &str, workload: &str) -> Outcome {
        let patience = format!("--timeout={}s", PATIENCE.as_secs());
        self.kubectl(&["--namespace", namespace, "rollout", "status", workload, &patience])?;
        Ok(())
    }

    /// Waits until the node's state is as wanted, and returns it.
    pub(crate) fn node_state(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Outcome<Value> {
        Ok(wait_until(what, PATIENCE, || {
            let state = self.get(&["nodestates", NAME]).map_err(|error| error.to_string())?;
            let noted = state["status"]["observedGeneration"] == state["metadata"]["generation"];
            if noted && wanted(&state) { Ok(state) } else { Err(format!("{state:#}")) }
        })?)
    }

    /// Waits until the node has another configuration than `before`, and returns its name.
    pub(crate) fn updated(&self, before: Option<&str>) -> Outcome<String> {
        let state = self.node_state("the node has what it should have", |state| {
            let (wanted, has) = (&state["spec"]["configuration"], &state["status"]["configuration"]);
            wanted == has && has.as_str().is_some_and(|has| Some(has) != before) && reason(state) == "Applied"
        })?;
        Ok(state["status"]["configuration"].as_str().unwrap_or_default().to_owned())
    }

    /// A namespace whose service account may read its Secrets, with the login for both mirrors.
    pub(crate) fn team(&self) -> Outcome {
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "team", "labels": {"pullwright.dev/pull-access": "list"}},
        }))?;
        let auth = json!({"auth": base64(format!("{}:{}", LOGIN.user, LOGIN.password).as_bytes())});
        let auths = json!({"auths": {"127.0.0.1:5000": auth, "127.0.0.1:5001": auth}});
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
            "metadata": {"name": "mirrors", "namespace": "team"}, "stringData": {".dockerconfigjson": auths.to_string()},
        }))
    }

    /// What the administrator wants: images of docker.io from this mirror, with the credentials of the Pod's namespace.
    pub(crate) fn mirror(&self, port: u16) -> Outcome {
        self.apply(&json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ImageTagMirrorSet", "metadata": {"name": "hub"},
            "spec": {"imageTagMirrors": [{"source": "docker.io", "mirrors": [format!("127.0.0.1:{port}")],
                "mirrorSourcePolicy": "NeverContactSource"}]},
        }))
    }

    pub(crate) fn provider(&self, images: &[&str]) -> Outcome {
        self.apply(&json!({
            "apiVersion": "config.openshift.io/v1", "kind": "CRIOCredentialProviderConfig",
            "metadata": {"name": "cluster"}, "spec": {"matchImages": images},
        }))
    }

    /// Starts a Pod of the team.
    pub(crate) fn start(&self, name: &str, image: &str) -> Outcome {
        self.apply(&pod(name, image))
    }

    /// Starts many at once.
    pub(crate) fn start_all(&self, pods: impl Iterator<Item = (String, String)>) -> Outcome {
        let pods: Vec<_> = pods.map(|(name, image)| pod(&name, &image).to_string()).collect();
        Ok(self.0.kubectl().apply(&pods.join("\n---\n"))?)
    }

    /// Waits until a Pod runs, and returns the id of its container.
    pub(crate) fn runs(&self, name: &str) -> Outcome<String> {
        let (pod, patience) = (format!("pod/{name}"), format!("--timeout={}s", PATIENCE.as_secs()));
        self.kubectl(&["--namespace=team", "wait", &pod, "--for=condition=Ready", &patience])?;
        let pod = self.get(&["--namespace=team", "pod", name])?;
        Ok(pod["status"]["containerStatuses"][0]["containerID"].as_str().unwrap_or_default().to_owned())
    }
}

fn pod(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "team"},
        "spec": {
            "containers": [{"name": "main", "image": image, "imagePullPolicy": "Always"}],
            "terminationGracePeriodSeconds": 1, "tolerations": [{"operator": "Exists"}],
        },
    })
}

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// The condition `Ready` of a node's state.
pub(crate) fn ready(state: &Value) -> Value {
    let conditions = state["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == "Ready").unwrap_or_default()
}

pub(crate) fn reason(state: &Value) -> String {
    ready(state)["reason"].as_str().unwrap_or_default().to_owned()
}
