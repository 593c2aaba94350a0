//! The program, started in a folder of its own.

use std::fs::{self, DirBuilder};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pullwright_handover::{AuthFileName, Ticket};
use pullwright_protobuf::append;
use pullwright_testkit::containerd::image_service;
use tempfile::TempDir;

use crate::caller::Caller;

/// A ticket.
pub(crate) const TICKET: &str = "00112233445566778899aabbccddeeff";

/// A folder that has all files of a node.
pub(crate) struct Place {
    folder: TempDir,
}

/// The program while it runs.
pub(crate) struct Running {
    pub(crate) child: Child,
    log: Arc<Mutex<String>>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        // Asked for once, so that a test finds all folders.
        place.command();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path("images.sock")
    }

    pub(crate) fn containerd(&self) -> PathBuf {
        self.path("containerd.sock")
    }

    /// The program with the options for this folder.
    pub(crate) fn command(&self) -> Command {
        image_service(env!("CARGO_BIN_EXE_pullwright-images").as_ref(), self.folder.path()).unwrap()
    }

    /// Starts it and waits until it serves.
    pub(crate) async fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command();
        command.args(arguments);
        Running::start(command).await
    }

    pub(crate) async fn caller(&self) -> Caller {
        Caller::connect(&self.socket()).await
    }

    /// Puts an auth file for this namespace and repository and [`TICKET`], as the plugin does.
    pub(crate) fn put(&self, namespace: &str, repository: &str, content: &str) -> PathBuf {
        self.put_for(TICKET, namespace, repository, content)
    }

    /// The same for any ticket.
    pub(crate) fn put_for(&self, ticket: &str, namespace: &str, repository: &str, content: &str) -> PathBuf {
        let name = AuthFileName::new(&namespace.parse().unwrap(), repository).unwrap();
        let folder = self.path("auth/tickets");
        DirBuilder::new().mode(0o700).recursive(true).create(&folder).unwrap();
        let path = folder.join(Ticket::parse(ticket).unwrap().file_name(&name));
        fs::write(&path, content).unwrap();
        path
    }

    /// Puts an auth file without a ticket, as the plugin does for CRI-O.
    pub(crate) fn put_without_ticket(&self, namespace: &str, repository: &str, content: &str) {
        let name = AuthFileName::new(&namespace.parse().unwrap(), repository).unwrap();
        fs::write(self.path("auth").join(name.to_string()), content).unwrap();
    }

    /// Every file in the auth folder, those in use as well.
    pub(crate) fn credentials(&self) -> Vec<PathBuf> {
        let list = |folder: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(folder).into_iter().flatten();
            entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
        };
        let folder = self.path("auth");
        [list(&folder), list(&folder.join("in-use")), list(&folder.join("tickets"))].concat()
    }

    /// Two mirrors for `docker.io`, in `registries.conf` and for containerd.
    pub(crate) fn mirror_docker_io(&self) {
        let conf = "[[registry]]\nlocation = \"docker.io\"\n\
                    [[registry.mirror]]\nlocation = \"one.example:5000\"\n\
                    [[registry.mirror]]\nlocation = \"two.example\"\n";
        fs::write(self.path("registries.conf"), conf).unwrap();
        let folder = self.path("certs.d/docker.io");
        fs::create_dir(&folder).unwrap();
        fs::write(
            folder.join("hosts.toml"),
            "[host.\"http://one.example:5000\"]\n[host.\"https://two.example\"]\n",
        )
        .unwrap();
    }
}

impl Running {
    pub(crate) async fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let log = Arc::<Mutex<String>>::default();
        let (lines, written) = (BufReader::new(child.stderr.take().unwrap()).lines(), Arc::clone(&log));
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *written.lock().unwrap() += &(line + "\n");
            }
        });
        let mut running = Self { child, log };
        running.until_log("serving on").await;
        running
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits until the log has `text`.
    pub(crate) async fn until_log(&mut self, text: &str) {
        let begun = std::time::Instant::now();
        while !self.log().contains(text) {
            assert!(begun.elapsed() < Duration::from_mins(1), "{text:?} is not in its log: {}", self.log());
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended ({ended:?}) before it wrote {text:?}: {}", self.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let begun = std::time::Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < Duration::from_mins(1), "it does not end: {}", self.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the kubelet sends as `auth` when the plugin has answered with this ticket.
pub(crate) fn ticket(ticket: &str) -> Vec<u8> {
    let mut auth = Vec::new();
    append(&mut auth, 1, Ticket::USERNAME.as_bytes());
    append(&mut auth, 2, ticket.as_bytes());
    auth
}

/// A pull with [`TICKET`].
pub(crate) fn pull_with_ticket(image: &str, namespace: &str) -> Vec<u8> {
    pull(image, namespace, Some(&ticket(TICKET)))
}

/// `PullImageRequest` of a Pod, with what a newer kubelet might add.
pub(crate) fn pull(image: &str, namespace: &str, auth: Option<&[u8]>) -> Vec<u8> {
    let (mut spec, mut metadata, mut sandbox, mut message) = (vec![], vec![], vec![], vec![]);
    append(&mut spec, 1, image.as_bytes());
    append(&mut metadata, 1, b"pod");
    append(&mut metadata, 3, namespace.as_bytes());
    append(&mut sandbox, 1, &metadata);
    append(&mut message, 1, &spec);
    if let Some(auth) = auth {
        append(&mut message, 2, auth);
    }
    append(&mut message, 3, &sandbox);
    append(&mut message, 77, b"of a newer version");
    message
}

/// An auth file with a user for each key, whose password is `pw-` and the user.
pub(crate) fn auth_file(entries: &[(&str, &str)]) -> String {
    let entries = entries.iter().map(|(key, user)| {
        let auth = pullwright_golang::base64::encode(format!("{user}:pw-{user}").as_bytes());
        format!("\"{key}\": {{\"auth\": \"{auth}\"}}")
    });
    format!("{{\"auths\": {{{}}}}}", entries.collect::<Vec<_>>().join(","))
}
