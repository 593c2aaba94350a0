//! A namespace with a ServiceAccount, the plugin that its Pods' images make the kubelet run, and the pull that follows.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use pullwright_engine::credentials::Sensitive;
use pullwright_engine::kubelet::{ApiVersion, Request, Response};
use pullwright_handover::{AuthFileName, AuthFolder};
use pullwright_testkit::control_plane::AUDIENCE;
use pullwright_testkit::process::Place;
use serde_json::{Value, json};

use crate::world::{ALPHA, BETA, WORLD};

/// A team of a test's own, with an image of its own, on a node of its own.
pub(crate) struct Team {
    namespace: &'static str,
    /// The image as its Pods name it.
    image: String,
    root: PathBuf,
    arguments: Vec<String>,
}

impl Team {
    /// A namespace with a ServiceAccount that may do nothing, and a node that mirrors Docker Hub and never asks it.
    pub(crate) fn new(namespace: &'static str) -> Self {
        let root = WORLD.root.join(namespace);
        fs::create_dir_all(&root).unwrap();
        WORLD.registry.push(&WORLD.image, &format!("library/{namespace}:1")).unwrap();
        let image = format!("docker.io/library/{namespace}");
        let team = Self { namespace, image, root, arguments: Vec::new() };
        team.registries(&format!(
            "[[registry]]\nlocation = \"docker.io\"\nblocked = true\n\
             [[registry.mirror]]\nlocation = \"{}\"\ninsecure = true\n",
            WORLD.mirror()
        ));
        WORLD.apply(&[
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
            team.object("v1", "ServiceAccount", "puller", json!({})),
        ]);
        team
    }

    /// Options for the plugin.
    pub(crate) fn with(mut self, arguments: &[&str]) -> Self {
        self.arguments = arguments.iter().map(|&word| word.to_owned()).collect();
        self
    }

    pub(crate) fn registries(&self, conf: &str) {
        fs::write(self.root.join("registries.conf"), conf).unwrap();
    }

    /// Creates many objects, with one request for each.
    pub(crate) fn create(&self, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let file = self.root.join("objects.json");
        fs::write(&file, list.to_string()).unwrap();
        WORLD.plane.kubectl().run(&["create", "--filename", &file.display().to_string()]).unwrap();
    }

    /// An object of this namespace with these further fields.
    pub(crate) fn object(&self, version: &str, kind: &str, name: &str, mut fields: Value) -> Value {
        fields["apiVersion"] = version.into();
        fields["kind"] = kind.into();
        fields["metadata"] = json!({"name": name, "namespace": self.namespace});
        fields
    }

    /// Lets the ServiceAccount do this with Secrets, and get itself.
    pub(crate) fn allow(&self, verb: &str, names: &[&str]) {
        let rbac = "rbac.authorization.k8s.io/v1";
        let rules = json!([
            {"apiGroups": [""], "resources": ["secrets"], "verbs": [verb], "resourceNames": names},
            {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get"], "resourceNames": ["puller"]},
        ]);
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "pull"});
        let subject = json!({"kind": "ServiceAccount", "name": "puller", "namespace": self.namespace});
        WORLD.apply(&[
            self.object(rbac, "Role", "pull", json!({"rules": rules})),
            self.object(rbac, "RoleBinding", "pull", json!({"roleRef": role, "subjects": [subject]})),
        ]);
    }

    /// A pull secret of the usual type.
    pub(crate) fn secret(&self, name: &str, auths: &Value) -> Value {
        let content = json!({ "auths": auths }).to_string();
        let fields =
            json!({"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": content}});
        self.object("v1", "Secret", name, fields)
    }

    pub(crate) fn create_token(&self, audience: &str) -> String {
        let args = ["create", "token", "puller", "--namespace", self.namespace, "--audience", audience];
        WORLD.plane.kubectl().run(&args).unwrap().trim().to_owned()
    }

    /// Runs the plugin as the kubelet would for a Pod with the image.
    pub(crate) fn ask(&self) -> Result<String, String> {
        self.ask_with(&self.create_token(AUDIENCE), &[])
    }

    /// What it says when it has answered, or why it has not.
    pub(crate) fn ask_with(&self, token: &str, annotations: &[(&str, &str)]) -> Result<String, String> {
        let annotations: BTreeMap<_, _> =
            annotations.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let request =
            Request::on_behalf_of(Sensitive::from(token), annotations, self.image.as_str()).render();
        let mut plugin = Command::new(env!("CARGO_BIN_EXE_crio-credential-provider"))
            .env_clear()
            .args(["--server", &WORLD.plane.server(), "--certificate-authority"])
            .arg(WORLD.plane.ca())
            .arg("--registries-conf")
            .arg(self.root.join("registries.conf"))
            .arg("--auth-dir")
            .arg(self.root.join("auth"))
            .arg("--lock-dir")
            .arg(self.root.join("locks"))
            .arg("--global-auth-file")
            .arg(self.root.join("none"))
            .arg("--journal-socket")
            .arg(self.root.join("none"))
            // Whoever plays the runtime here may be slower than one.
            .args(["--remove-unclaimed-after", "60"])
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        plugin.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
        let output = plugin.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        for secret in [ALPHA.password, BETA.password, token] {
            assert!(!stderr.contains(secret) && !stdout.contains(secret), "{stderr}{stdout}");
        }
        let line = stderr.trim_end().to_owned();
        if !output.status.success() {
            return Err(line.strip_prefix("crio-credential-provider: ").unwrap().to_owned());
        }
        Response::parse(stdout.as_bytes(), ApiVersion::V1).expect("the kubelet accepts it");
        Ok(line)
    }

    /// Pulls as CRI-O does: with the file if there is one, which is gone afterwards. Gives the users that the registry
    /// knew, or what skopeo says.
    pub(crate) fn pull(&self) -> Result<Vec<String>, String> {
        let folder = AuthFolder::open(&self.root.join("auth")).unwrap();
        let name = AuthFileName::new(&self.namespace.parse().unwrap(), &self.image).unwrap();
        let claim = folder.claim(&name).unwrap();
        let nothing = self.root.join("nothing.json");
        fs::write(&nothing, "{}").unwrap();
        let auth_file = match &claim {
            Some(claim) => {
                let mode = fs::metadata(claim.path()).unwrap().permissions().mode();
                assert_eq!(mode & 0o7777, 0o600);
                claim.path()
            }
            None => &nothing,
        };
        let mark = WORLD.registry.log().mark();
        let mut skopeo = Place::Host.command("skopeo").unwrap();
        // Nothing of whoever runs this test.
        skopeo.env("HOME", &self.root).arg("--insecure-policy").arg("--registries-conf");
        skopeo.arg(self.root.join("registries.conf")).args(["copy", "--quiet", "--authfile"]).arg(auth_file);
        skopeo
            .arg(format!("docker://{}:1", self.image))
            .arg(format!("oci:{}", self.root.join("pulled").display()));
        let output = skopeo.output().unwrap();
        let left = claim.map(|claim| claim.path().to_owned());
        assert!(left.is_none_or(|path| !path.exists()), "a claim outlived its pull");
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        // The registry is everybody's, the repository only ours.
        let ours = format!(" vars.name=library/{} ", self.namespace);
        let log = WORLD.registry.log().since(mark);
        let served = log.iter().filter(|line| line.contains(&ours) && line.contains("GetImageManifest"));
        let user = |line: &String| {
            let (_, rest) = line.split_once("auth.user.name=").expect("the registry names the user");
            rest.split(' ').next().unwrap_or_default().to_owned()
        };
        Ok(served.map(user).collect())
    }
}
