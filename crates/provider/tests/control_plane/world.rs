//! What all tests share: one control plane, one private registry, and an image to put there.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use pullwright_testkit::ControlPlane;
use pullwright_testkit::image;
use pullwright_testkit::process::{Place, free_ports};
use pullwright_testkit::registry::{Login, Registry, RunningRegistry};
use serde_json::{Value, json};

/// Who may pull.
pub(crate) const ALPHA: Login = Login { user: "alpha", password: "canary-alpha" };
/// Who may pull, too.
pub(crate) const BETA: Login = Login { user: "beta", password: "canary-beta" };

pub(crate) struct World {
    pub(crate) root: PathBuf,
    pub(crate) plane: ControlPlane,
    pub(crate) registry: RunningRegistry,
    /// An image, in OCI's layout.
    pub(crate) image: PathBuf,
}

impl World {
    /// Host and port of the registry.
    pub(crate) fn mirror(&self) -> String {
        self.registry.registry().address()
    }

    /// Applies objects, all at once.
    pub(crate) fn apply(&self, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.plane.kubectl().apply(&list.to_string()).expect("the API takes them");
    }
}

/// Started by the first test that needs it, and ended with this process.
pub(crate) static WORLD: LazyLock<World> = LazyLock::new(|| {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("provider-control-plane");
    if root.exists() {
        fs::remove_dir_all(&root).expect("what an earlier run left can be removed");
    }
    fs::create_dir_all(&root).expect("a folder");
    let plane = ControlPlane::start(&root.join("plane")).expect("a control plane");
    println!("control plane ready after {:.1} s", plane.started_in().as_secs_f64());
    let [port] = free_ports().expect("a port");
    let registry = Registry { name: "mirror", port, logins: vec![ALPHA, BETA], tls: false };
    let registry = registry.start(Place::Host, &root, plane.authority()).expect("a registry");
    let layout = root.join("image");
    // Nobody runs it.
    let program = root.join("program");
    fs::write(&program, "#!/bin/sh\n").expect("a file");
    image::write(&layout, &program, "test").expect("an image");
    World { root, plane, registry, image: layout }
});
