//! A password that is recognised wherever it turns up.

use std::{
    error::Error,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use pullwright_testkit::{
    registry::Login,
    scenario::{PATIENCE, Pod, Scenario, SecretKind::DockerConfigJson, base64, entry},
};
use serde_json::json;

use crate::Outcome;

/// Who may use the registry `mirror` besides.
pub(crate) const LOGIN: Login = Login { user: "canaryuser", password: "canary-4c1b7e90d2" };
/// Whom it does not know.
pub(crate) const STRANGER: Login = Login { user: "nobody", ..LOGIN };

/// Pulls that succeed, that fail, and a Secret that cannot be read: each has reasons to say what it was given.
pub(crate) fn nowhere_else(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/canary:1")?;
    let refused = scenario.in_namespace("canary-refused")?;
    let address = scenario.address("mirror")?;
    let unreadable = json!({&address: {"auth": LOGIN.password}});
    scenario.add_secret("a-unreadable", DockerConfigJson, &unreadable)?;
    scenario.add_secret("b-readable", DockerConfigJson, &json!({&address: entry(LOGIN)}))?;
    refused.add_secret("wrong", DockerConfigJson, &json!({&address: entry(STRANGER)}))?;

    let over = AtomicBool::new(false);
    let seen = thread::scope(|scope| {
        let watch = scope.spawn(|| processes_with_canary(&over));
        let pulled = pull(scenario, &refused);
        over.store(true, Ordering::Relaxed);
        pulled.map(|()| watch.join())
    })?;
    assert_eq!(seen.map_err(|_| "the watch panicked")?, Vec::<String>::new());

    let said = scenario.node().kubectl().run(&["get", "events,pods", "-A", "-o", "yaml"])?;
    assert!(!holds_canary(said.as_bytes()), "{said}");
    let journal = scenario.journal().join("\n");
    assert!(journal.contains("a-unreadable") && !holds_canary(journal.as_bytes()), "{journal}");
    let root = scenario.node().root();
    // The API server keeps Secrets there, as they are; and so it is found where it is.
    let etcd = root.join("etcd");
    assert_ne!(files_with_canary(&etcd, Path::new(""))?, Vec::<PathBuf>::new());
    assert_eq!(files_with_canary(root, &etcd)?, Vec::<PathBuf>::new());
    Ok(())
}

fn pull(scenario: &Scenario<'_>, refused: &Scenario<'_>) -> Outcome {
    let pod = Pod::new("test-pod", &["docker.io/library/canary:1"]);
    for scenario in [scenario, refused] {
        scenario.allow_secrets("default")?;
        scenario.run_pods(&[pod])?;
    }
    scenario.wait_ready(&[pod], PATIENCE)?;
    refused.wait_failed_pull(pod.name)?;
    Ok(refused.delete_pods()?)
}

fn holds_canary(bytes: &[u8]) -> bool {
    let encoded = base64(format!("{}:{}", LOGIN.user, LOGIN.password).as_bytes());
    let text = String::from_utf8_lossy(bytes);
    [LOGIN.password, encoded.as_str()].iter().any(|canary| text.contains(canary))
}

/// The processes of the machine that have it in their arguments or environment, looked at until it is `over`.
fn processes_with_canary(over: &AtomicBool) -> Vec<String> {
    let mut found = Vec::new();
    while !over.load(Ordering::Relaxed) {
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            for file in ["cmdline", "environ"].map(|file| process.path().join(file)) {
                // A process that has ended meanwhile has neither.
                let bytes = fs::read(&file).unwrap_or_default();
                if holds_canary(&bytes) {
                    found.push(format!("{}: {}", file.display(), String::from_utf8_lossy(&bytes)));
                }
            }
        }
        // Shorter than any program runs that could have it, and long enough to leave them the processor.
        thread::sleep(Duration::from_millis(2));
    }
    found
}

/// The files below `folder` that hold it, but for those below `except`.
fn files_with_canary(folder: &Path, except: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries = match fs::read_dir(folder) {
        // Folders of Pods that earlier scenarios deleted go while this one looks.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && path != except {
            found.extend(files_with_canary(&path, except)?);
        } else if kind.is_file() && holds_canary(&fs::read(&path).unwrap_or_default()) {
            found.push(path);
        }
    }
    Ok(found)
}
