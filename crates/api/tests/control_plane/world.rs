//! What all tests share: one control plane with the committed definitions.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullwright_testkit::ControlPlane;
use serde_json::Value;

pub(crate) struct World {
    root: PathBuf,
    plane: ControlPlane,
}

impl World {
    /// Runs `kubectl`; what it says when it fails is the error.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        self.plane.kubectl().run(arguments).map_err(|error| error.to_string())
    }

    /// Runs `kubectl` with an object in a file.
    pub(crate) fn with(&self, arguments: &[&str], object: &Value) -> Result<String, String> {
        static FILES: AtomicUsize = AtomicUsize::new(0);
        let file = self.root.join(format!("object-{}.json", FILES.fetch_add(1, Ordering::Relaxed)));
        fs::write(&file, object.to_string()).unwrap();
        self.kubectl(&[arguments, &["--filename", file.to_str().unwrap()]].concat())
    }

    /// Has the API server check an object as if it were to be created.
    pub(crate) fn check(&self, object: &Value) -> Result<String, String> {
        self.with(&["create", "--dry-run=server"], object)
    }

    /// Applies an object on the server's side, for one of several writers.
    pub(crate) fn apply_as(&self, writer: &str, object: &Value) -> Result<String, String> {
        self.with(&["apply", "--server-side", &format!("--field-manager={writer}")], object)
    }

    /// An object as it is stored.
    pub(crate) fn get(&self, kind: &str, name: &str) -> Value {
        self.plane.kubectl().json(&["get", kind, name]).unwrap()
    }

    /// Applies definitions and waits until their kinds are served.
    pub(crate) fn define(&self, definitions: &str) {
        self.plane.kubectl().apply(definitions).unwrap();
        let wait = ["wait", "--for=condition=Established", "--timeout=60s", "crds", "--all"];
        self.kubectl(&wait).unwrap();
    }
}

/// The texts of the committed definitions.
fn definitions() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// Started by the first test that needs it, and ended with this process.
pub(crate) static WORLD: LazyLock<World> = LazyLock::new(|| {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("api-control-plane");
    if root.exists() {
        fs::remove_dir_all(&root).unwrap();
    }
    fs::create_dir_all(&root).unwrap();
    let plane = ControlPlane::start(&root.join("plane")).unwrap();
    println!("control plane ready after {:.1} s", plane.started_in().as_secs_f64());
    let world = World { root, plane };
    world.define(&definitions().join("---\n"));
    world
});
