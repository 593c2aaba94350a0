//! A node in a folder of its own: what the plugin reads, and where it writes.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use pullwright_engine::credentials::{AuthFile, Credential, Lookup};
use pullwright_handover::AuthFileName;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::inputs::{auths, manifest};
use crate::plugin::Plugin;

/// The password that no output may hold.
pub(crate) const PASSWORD: &str = "canary-password";
/// The end of each token, which no output may hold either.
pub(crate) const SIGNATURE: &str = "canary-signature";

/// The namespace of most requests.
pub(crate) const NAMESPACE: &str = "team-a";
/// The image of most requests.
pub(crate) const IMAGE: &str = "docker.io/library/nginx";
/// Where it is mirrored to.
pub(crate) const MIRROR: &str = "mirror.example:5000";
/// Its name there.
pub(crate) const MIRRORED: &str = "mirror.example:5000/library/nginx";

const REGISTRIES: &str = "\
    [[registry]]\n\
    location = \"docker.io\"\n\
    [[registry.mirror]]\n\
    location = \"mirror.example:5000\"\n";

/// A node of a test's own. Its sweepers end with it.
pub(crate) struct Stage {
    root: TempDir,
}

impl Stage {
    /// A node that mirrors Docker Hub, and has no Secrets yet.
    pub(crate) fn new() -> Self {
        // Not below the target folder: the path of a socket must be short.
        let root = tempfile::tempdir().expect("a folder for the test");
        let stage = Self { root };
        for folder in ["registries.conf.d", "secrets"] {
            fs::create_dir(stage.path(folder)).expect("a folder");
        }
        stage.write("registries.conf", REGISTRIES);
        stage
    }

    /// The same with a Secret on the node that opens the mirror.
    pub(crate) fn with_secret_on_the_node() -> Self {
        let stage = Self::new();
        stage.write("secrets/pull.json", &manifest("pull", &auths(&[(MIRROR, "puller")])));
        stage
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).expect("a file for the test");
    }

    pub(crate) fn auth_dir(&self) -> PathBuf {
        self.path("auth")
    }

    /// A plugin that takes Secrets from where `options` say.
    pub(crate) fn plugin(&self) -> Plugin {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crio-credential-provider"));
        command.env_clear();
        for (option, name) in [
            ("--registries-conf", "registries.conf"),
            ("--registries-conf-dir", "registries.conf.d"),
            ("--auth-dir", "auth"),
            ("--lock-dir", "locks"),
            ("--global-auth-file", "config.json"),
            ("--journal-socket", "journal"),
            ("--outcomes-dir", "outcomes"),
        ] {
            command.arg(option).arg(self.path(name));
        }
        // A test may look at the file later than any runtime would.
        command.args(["--remove-unclaimed-after", "3600"]);
        Plugin { command, shows_credentials: false }
    }

    /// A plugin that takes Secrets from the node.
    pub(crate) fn plugin_with_folder(&self) -> Plugin {
        self.plugin().arg("--secrets-folder").arg(self.path("secrets"))
    }

    /// The names in the auth folder, those in `in-use/` and hidden ones included.
    pub(crate) fn left(&self) -> Vec<String> {
        names_below(&self.auth_dir())
    }

    /// Where the file for a pull stands.
    pub(crate) fn auth_file(&self, namespace: &str, image: &str) -> PathBuf {
        let name = AuthFileName::new(&namespace.parse().expect("a namespace"), image).expect("a name");
        self.auth_dir().join(name.to_string())
    }

    /// The user whom the only file in the auth folder names for each of `sources`; it must be private and whole.
    pub(crate) fn users_for(&self, sources: &[&str]) -> Vec<Option<String>> {
        let path = self.auth_file(NAMESPACE, IMAGE);
        let name = path.file_name().and_then(OsStr::to_str).expect("a name in text").to_owned();
        assert_eq!(self.left(), [name]);
        let mode = fs::symlink_metadata(&path).expect("the auth file").permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        let file =
            AuthFile::parse(&fs::read(&path).expect("the auth file")).expect("a file the runtime accepts");
        let credentials = sources.iter().map(|source| match file.lookup(source) {
            Lookup::Found { credential, .. } => Some(credential),
            Lookup::None { .. } => None,
            other => panic!("{other:?}"),
        });
        let user = |credential: Credential| {
            let (username, password) = credential.texts().unwrap();
            assert_eq!(password, PASSWORD);
            username.to_owned()
        };
        credentials.map(|credential| credential.map(user)).collect()
    }

    /// The processes of this node's sweepers, with their arguments.
    pub(crate) fn sweepers(&self) -> Vec<(Pid, String)> {
        let locks = self.path("locks").to_str().expect("a path in text").to_owned();
        let processes = fs::read_dir("/proc").expect("/proc").filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            Some((Pid::from_raw(pid)?, String::from_utf8_lossy(&line).replace('\0', " ")))
        });
        processes.filter(|(_, line)| line.contains(&locks) && line.contains(" sweep ")).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // They would end by themselves within seconds, once they find the folder gone.
        for (pid, _) in self.sweepers() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The names below a folder, those of folders excluded.
pub(crate) fn names_below(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry")) {
        let name = entry.file_name().into_string().expect("a name in text");
        if entry.file_type().expect("its kind").is_dir() {
            names.extend(names_below(&entry.path()).iter().map(|below| format!("{name}/{below}")));
        } else {
            names.push(name);
        }
    }
    names.sort();
    names
}

/// Waits for what must happen; the test fails if it does not.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(1), "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
