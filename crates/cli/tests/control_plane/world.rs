//! Control planes, the objects in them, and the program that reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use pullwright_testkit::ControlPlane;
use serde_json::{Value, json};

pub(crate) struct World {
    pub(crate) plane: ControlPlane,
}

impl World {
    /// A control plane without any kind of ours.
    pub(crate) fn bare(name: &str) -> Self {
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        if root.exists() {
            fs::remove_dir_all(&root).unwrap();
        }
        let plane = ControlPlane::start(&root).unwrap();
        println!("control plane ready after {:.1} s", plane.started_in().as_secs_f64());
        Self { plane }
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.plane.kubectl().run(arguments).unwrap()
    }

    /// Creates an object or changes it, and then its status.
    pub(crate) fn apply(&self, object: &Value) {
        self.plane.kubectl().apply(&object.to_string()).unwrap();
        if let Some(status) = object.get("status") {
            let kind = object["kind"].as_str().unwrap();
            let group =
                object["apiVersion"].as_str().unwrap().rsplit_once('/').map_or("", |(group, _)| group);
            let patch = json!({"status": status}).to_string();
            self.kubectl(&[
                "patch",
                &format!("{kind}.{group}"),
                object["metadata"]["name"].as_str().unwrap(),
                "--subresource=status",
                "--type=merge",
                "--patch",
                &patch,
            ]);
        }
    }

    /// Applies definitions and waits until their kinds are served.
    pub(crate) fn define(&self, definitions: &str) {
        self.plane.kubectl().apply(definitions).unwrap();
        self.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crds", "--all"]);
    }

    /// `pullwright status` as the administrator.
    pub(crate) fn status(&self, arguments: &[&str]) -> Output {
        status(self.plane.kubeconfig(), arguments).output().unwrap()
    }
}

/// `pullwright status` with a kubeconfig.
pub(crate) fn status(kubeconfig: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pullwright"));
    command.env_clear().arg("status").arg("--kubeconfig").arg(kubeconfig).args(arguments);
    command
}

/// What it printed, if nothing went to standard error.
pub(crate) fn text(output: &Output) -> String {
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The committed definitions.
fn definitions() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|file| fs::read_to_string(file).unwrap()).collect::<Vec<_>>().join("---\n")
}

/// A control plane with our kinds that several tests use, each for objects of its own.
pub(crate) static WORLD: LazyLock<World> = LazyLock::new(|| {
    let world = World::bare("status-control-plane");
    world.define(&definitions());
    world
});
