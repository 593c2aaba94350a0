//! A test's own registries and node: objects become its registries.conf, and `skopeo` pulls with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{MutexGuard, PoisonError};

use pullwright_testkit::process::Place;

use crate::registries::{REGISTRIES, Registries};

/// A fixture of this test, with names in place of addresses.
fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/skopeo").join(path)
}

/// In all that goes in and comes out, the names of registries stand for their addresses, and `DIGEST` for the image's.
pub(crate) struct Lab {
    registries: MutexGuard<'static, Registries>,
    folder: PathBuf,
}

/// What came of a pull.
#[derive(Debug)]
pub(crate) struct Pull {
    /// What skopeo says if it fails.
    pub(crate) outcome: Result<(), String>,
    /// Who was asked, and the answer; see [`Registries::asked`].
    pub(crate) asked: Vec<String>,
}

impl Lab {
    /// Registries that have the image in these repositories, and nothing else.
    pub(crate) fn with(repositories: &[&str]) -> Self {
        // A test that failed leaves nothing behind that the next one does not remove.
        let registries = REGISTRIES.lock().unwrap_or_else(PoisonError::into_inner);
        registries.hold(repositories);
        let folder = registries.root.join("node");
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(folder.join("no-drop-ins")).unwrap();
        Self { registries, folder }
    }

    /// The path of a file or folder of this test's own.
    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    /// Host and port of a registry.
    pub(crate) fn address(&self, name: &str) -> String {
        self.registries.addressed(name)
    }

    /// Copies a fixture, as a file of this name, and gives its path.
    pub(crate) fn copy(&self, path: &str, name: &str) -> String {
        let copy = self.path(name);
        fs::create_dir_all(Path::new(&copy).parent().unwrap()).unwrap();
        fs::write(&copy, self.registries.addressed(&fs::read_to_string(fixture(path)).unwrap())).unwrap();
        copy
    }

    /// The registries.conf that `pullwright render` makes of a fixture.
    pub(crate) fn render(&self, manifest: &str) -> String {
        let manifest = self.copy(&format!("manifests/{manifest}"), "manifest.yaml");
        self.pullwright(&["render", &manifest])
    }

    /// What `pullwright` prints, if it finds nothing wrong.
    pub(crate) fn pullwright(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut pullwright = Command::new(env!("CARGO_BIN_EXE_pullwright"));
        pullwright.args(arguments).current_dir(&self.folder).env_clear().output().unwrap()
    }

    /// Pulls with this registries.conf. Who is asked must be what `pullwright resolve` says.
    pub(crate) fn pull(&self, conf: &str, image: &str) -> Pull {
        let file = self.path("registries.conf");
        fs::write(&file, conf).unwrap();
        let marks = self.registries.marks();
        let output = self.skopeo(&file, image);
        let asked = self.registries.asked(&marks);
        let said = self.registries.named(&String::from_utf8_lossy(&output.stderr));
        let outcome = if output.status.success() { Ok(()) } else { Err(said) };
        let pull = Pull { outcome, asked };
        self.check_plan(&file, image, &pull);
        pull
    }

    fn skopeo(&self, conf: &str, image: &str) -> Output {
        let pulled = self.folder.join("pulled");
        if pulled.exists() {
            fs::remove_dir_all(&pulled).unwrap();
        }
        let mut skopeo = Place::Host.command("skopeo").unwrap();
        // Nothing of whoever runs this test.
        skopeo.env("HOME", &self.folder).env("SSL_CERT_FILE", self.registries.authority.certificate());
        skopeo.args(["--insecure-policy", "--registries-conf", conf, "copy", "--quiet"]);
        skopeo.arg(format!("docker://{}", self.registries.addressed(image)));
        skopeo.arg(format!("oci:{}", pulled.display()));
        skopeo.output().unwrap()
    }

    /// All that can be asked is asked in the order of the plan, up to the first that has the image.
    fn check_plan(&self, conf: &str, image: &str, pull: &Pull) {
        let (image, folder) = (self.registries.addressed(image), self.path("no-drop-ins"));
        let output =
            self.run(&["resolve", &image, "--registries-conf", conf, "--registries-conf-dir", &folder]);
        // 1 says that nobody can be asked.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        let plan = self.registries.named(&String::from_utf8(output.stdout).unwrap());
        let mut plan: Vec<_> = plan.lines().filter(|line| !line.starts_with("nobody.test/")).collect();
        let asked: Vec<_> = pull.asked.iter().map(|asked| asked.split_once(' ').unwrap().1).collect();
        if pull.outcome.is_ok() {
            plan.truncate(asked.len());
        }
        assert_eq!(asked, plan, "asked, and planned: {pull:?}");
    }
}

impl Pull {
    /// Who was asked by a pull that must succeed.
    pub(crate) fn succeeds(self) -> Vec<String> {
        assert_eq!(self.outcome, Ok(()), "{:?}", self.asked);
        self.asked
    }

    /// Who was asked by a pull that must fail since its last resort is blocked by the entry for `prefix`.
    pub(crate) fn fails_blocked_by(self, prefix: &str) -> Vec<String> {
        let said = self.outcome.expect_err("a pull that fails");
        assert!(said.contains(&format!("registry {prefix} is blocked in ")), "{said}");
        self.asked
    }
}
