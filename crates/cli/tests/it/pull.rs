//! `pullwright pull` against a private registry: a mirror, two namespaces, and a Secret in one of them.

use std::fs;
use std::path::Path;
use std::process::Output;

use pullwright_testkit::certificates::Authority;
use pullwright_testkit::standin::{Image, Login, Registry, Setup};
use tempfile::TempDir;

use crate::program::command;

const PASSWORD: &str = "canary-8e21";
const IMAGE: &str = "images.example/team/app:1";

/// A node that pulls `images.example` from a private mirror, and a namespace with the credential for it.
struct Scene {
    folder: TempDir,
    mirror: Registry,
    image: Image,
    digest: String,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(&folder.path().join("certificates")).unwrap();
        let identity = authority.server("mirror", &["127.0.0.1"]).unwrap();
        let mirror = Registry::start(Setup {
            identity: Some(&identity),
            login: Login::Basic,
            users: &[("team", PASSWORD)],
            ..Setup::default()
        });
        let mirror = mirror.unwrap();
        let image = Image::new(vec![b"a layer".to_vec()]);
        let digest = mirror.put("copies/team/app", Some("1"), &image);
        let scene = Self { folder, mirror, image, digest };
        let address = scene.mirror.address();
        scene.write(
            "node/etc/containers/registries.conf",
            &format!(
                "[[registry]]\nprefix = \"images.example\"\nlocation = \"images.example\"\nblocked = true\n\
                 [[registry.mirror]]\nlocation = \"{address}/copies\"\n"
            ),
        );
        let secret = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "pull", "namespace": "with-secret"},
            "type": "kubernetes.io/dockerconfigjson",
            "stringData": {
                ".dockerconfigjson": serde_json::json!({
                    "auths": {format!("{address}/copies"): {"username": "team", "password": PASSWORD}},
                })
                .to_string(),
            },
        });
        scene.write("manifests/secret.json", &secret.to_string());
        scene
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn path(&self, path: &str) -> String {
        self.folder.path().join(path).display().to_string()
    }

    /// Pulls, and sees to it that the password is nowhere in what is printed.
    fn pull(&self, more: &[&str]) -> Output {
        let (root, manifests) = (self.path("node"), self.path("manifests"));
        let (to, ca) = (self.path("layout"), self.path("certificates/ca.crt"));
        let mut arguments =
            vec!["pull", "--root", &root, "--manifests", &manifests, "--to", &to, "--ca", &ca];
        arguments.extend(more);
        let output = command(&arguments).output().unwrap();
        for printed in [&output.stdout, &output.stderr] {
            assert!(!String::from_utf8_lossy(printed).contains(PASSWORD));
        }
        output
    }
}

fn text(printed: &[u8]) -> &str {
    str::from_utf8(printed).unwrap()
}

#[test]
fn the_namespace_with_the_secret_pulls_and_the_other_does_not() {
    let scene = Scene::new();
    let address = scene.mirror.address();
    let refused = scene.pull(&[IMAGE, "--namespace", "without-secret"]);
    assert_eq!(refused.status.code(), Some(1));
    let stderr = text(&refused.stderr);
    assert!(stderr.contains("(Mirrors also failed: ["), "{stderr}");
    assert!(stderr.contains("answered 401"), "{stderr}");
    assert!(stderr.contains("no credential was shown"), "{stderr}");
    assert!(stderr.contains("registry images.example is blocked"), "{stderr}");
    assert!(!Path::new(&scene.path("layout/index.json")).exists());

    let pulled = scene.pull(&[IMAGE, "--namespace", "with-secret"]);
    assert_eq!(pulled.status.code(), Some(0), "{}", text(&pulled.stderr));
    assert_eq!(
        text(&pulled.stdout),
        format!(
            "{IMAGE} is in {}\nsource {address}/copies/team/app:1\ndigest {}\n",
            scene.path("layout"),
            scene.digest
        )
    );
    let stderr = text(&pulled.stderr);
    assert!(stderr.starts_with(&format!("from {address}/copies/team/app:1\n")), "{stderr}");
    assert_eq!(stderr.matches("fetched ").count(), 2, "{stderr}");
    let manifest = Path::new("blobs/sha256").join(scene.digest.strip_prefix("sha256:").unwrap());
    let manifest = Path::new(&scene.path("layout")).join(manifest);
    assert_eq!(fs::read(manifest).unwrap(), scene.image.manifest());
}

#[test]
fn programs_are_told_in_json() {
    let scene = Scene::new();
    let pulled = scene.pull(&[IMAGE, "--namespace", "with-secret", "--output", "json"]);
    let answer: serde_json::Value = serde_json::from_slice(&pulled.stdout).unwrap();
    assert_eq!(answer["image"], IMAGE);
    assert_eq!(answer["digest"], scene.digest.as_str());
    assert_eq!(answer["stored"], scene.digest.as_str());
}

#[test]
fn what_cannot_be_read_or_written_is_said_before_anybody_is_asked() {
    let scene = Scene::new();
    scene.write("layout/letter.txt", "dear");
    let refused = scene.pull(&[IMAGE, "--namespace", "with-secret"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("is not empty and no OCI layout"));
    for (file, content) in [("empty.pem", ""), ("missing.pem", "")] {
        if file == "empty.pem" {
            scene.write(file, content);
        }
        let refused = scene.pull(&[IMAGE, "--namespace", "with-secret", "--ca", &scene.path(file)]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains(file), "{}", text(&refused.stderr));
    }
    assert_eq!(scene.mirror.log(), []);
}
