//! A folder of its own for each test, with the actors that play in it.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use pullwright_handover::{AuthFileName, Bounds, Handover, Put, PutError, SweepBounds};

use crate::actor::{Scene, content};

/// Longer than any test lasts.
pub(crate) const NEVER: Duration = Duration::from_hours(1);
/// The end of patience with something that must happen and does not.
const PATIENCE: Duration = Duration::from_mins(1);

/// Nothing is replaced and nothing is swept.
pub(crate) const PATIENT: Bounds = Bounds {
    stood: NEVER,
    sweep: SweepBounds { unclaimed: NEVER, ticket: NEVER, temporary: NEVER, in_use: NEVER },
};

/// [`PATIENT`], but for one bound on all that is swept.
pub(crate) fn swept_after(bound: Duration) -> Bounds {
    let sweep = SweepBounds { unclaimed: bound, ticket: bound, temporary: bound, in_use: bound };
    Bounds { sweep, ..PATIENT }
}

/// A folder that is removed at the end, and the sweepers in it are ended.
pub(crate) struct Stage {
    root: PathBuf,
    pub(crate) scene: Scene,
}

impl Stage {
    pub(crate) fn new(bounds: Bounds) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("handover-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique);
        let text = |folder: &str| root.join(folder).to_str().expect("a path in text").to_owned();
        fs::create_dir_all(&root).expect("a folder for the test");
        let scene = Scene { auth: text("auth"), locks: text("locks"), bounds };
        Self { root, scene }
    }

    /// A path beside the auth folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn auth(&self) -> &Path {
        Path::new(&self.scene.auth)
    }

    pub(crate) fn handover(&self) -> Handover {
        self.scene.open()
    }

    /// Puts in this process.
    pub(crate) fn put(&self, name: &AuthFileName, id: &str) -> Result<Put, PutError> {
        self.put_until(name, id, PATIENCE)
    }

    pub(crate) fn put_until(&self, name: &AuthFileName, id: &str, time: Duration) -> Result<Put, PutError> {
        self.handover().put(name, &content(id), Instant::now() + time, &self.scene.sweeper())
    }

    /// A plugin of its own that puts; its output is what [`said`] makes of the earlier file.
    pub(crate) fn plugin(&self, image: &str, id: &str) -> Command {
        self.plugin_that("put", image, id)
    }

    /// A plugin of its own that plays this role.
    pub(crate) fn plugin_that(&self, role: &str, image: &str, id: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(self.scene.args(role)).args([image, id]).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    /// The names in the auth folder, and with `in-use/` or `tickets/` before them those in there.
    pub(crate) fn names(&self) -> Vec<String> {
        let list = |folder: PathBuf, prefix: &str| {
            fs::read_dir(folder)
                .into_iter()
                .flatten()
                .map(|entry| format!("{prefix}{}", entry.expect("an entry").file_name().to_string_lossy()))
                .collect::<Vec<_>>()
        };
        let mut names = list(self.auth().to_owned(), "");
        for within in ["in-use", "tickets"] {
            names.retain(|name| name != within);
            names.extend(list(self.auth().join(within), &format!("{within}/")));
        }
        names.sort();
        names
    }

    /// Whether nothing stands in the auth folder itself.
    pub(crate) fn auth_is_empty(&self) -> bool {
        fs::read_dir(self.auth()).expect("the auth folder").all(|entry| {
            ["in-use", "tickets"]
                .iter()
                .any(|within| entry.as_ref().expect("an entry").file_name() == *within)
        })
    }

    /// The file of a lock, as a plugin of another make would find it that follows the contract.
    pub(crate) fn lock_file(&self, of: impl Display) -> File {
        self.handover();
        let folder = fs::metadata(self.auth()).expect("the auth folder");
        let name = format!("{:x}-{:x}-{of}.lock", folder.dev(), folder.ino());
        File::create(Path::new(&self.scene.locks).join(name)).expect("a lock file")
    }

    /// The processes of sweepers for this stage.
    pub(crate) fn sweepers(&self) -> Vec<u32> {
        let args = self.scene.args("sweep").join("\0");
        let is_ours = |pid: &u32| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&args))
        };
        let pids = fs::read_dir("/proc")
            .expect("/proc")
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(is_ours).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for pid in self.sweepers() {
            let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
            if let Some(pid) = pid {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Waits for what must happen; the test fails if it does not.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The line of a plugin that must succeed. Not read to the end: if somebody kept its output open, there would be none.
pub(crate) fn output(mut child: Child) -> String {
    assert!(child.wait().expect("it ends").success(), "the plugin failed");
    let mut line = [0; 64];
    let length = child.stdout.take().expect("its output").read(&mut line).expect("a line");
    String::from_utf8_lossy(&line[..length]).trim().to_owned()
}

pub(crate) fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o7777
}

pub(crate) fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}
