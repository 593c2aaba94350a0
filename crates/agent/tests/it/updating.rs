//! A whole update, services included: whenever the agent is killed, the next one ends it, and the kubelet runs with the files that are there.

use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pullwright_agent::actions::Action;
use pullwright_agent::transaction::{HostRoot, Transactions, WantedFile};
use pullwright_agent::update::{self, Brought, Machine, UpdateError};
use pullwright_api::NodeRuntime;

use crate::stage::{STATE, Stage, file};
use crate::traced::{Call, Deed, for_each};

const DROP_IN: &str = "etc/systemd/system/kubelet.service.d/90-pullwright.conf";
/// What systemd has read, and what the kubelet was started with.
const LOADED: &str = "run/loaded";
const RUNNING: &str = "run/kubelet";

const WORKS: Deed = Deed { before: &["update-one"], name: "update-two" };
const BREAKS: Deed = Deed { before: &["update-one"], name: "update-broken" };
const RESTORES: Deed = Deed { before: &["update-one"], name: "update-none" };

/// Three files that belong together; the kubelet does not start with those of `broken`.
fn files(name: &str) -> Vec<WantedFile> {
    vec![
        file(
            "/opt/pullwright/credential-providers/crio-credential-provider",
            0o755,
            &format!("plugin {name}"),
        ),
        file("/etc/pullwright/credential-providers/zz-pullwright.yaml", 0o644, &format!("providers {name}")),
        file(&format!("/{DROP_IN}"), 0o644, name),
    ]
}

/// A systemd and a kubelet of a few lines. The file `run/deaf` makes systemd refuse everything.
struct Services(PathBuf);

impl Services {
    fn runs_broken(&self) -> bool {
        fs::read_to_string(self.0.join(RUNNING)).is_ok_and(|running| running == "broken")
    }

    /// Copies a file, which is there as a whole or not at all, as a process has read its files or has not.
    fn copy(&self, from: &str, to: &str) -> std::io::Result<()> {
        let content = fs::read(self.0.join(from)).unwrap_or_default();
        fs::create_dir_all(self.0.join("run"))?;
        let staged = self.0.join("run/staged");
        fs::write(&staged, content)?;
        fs::rename(staged, self.0.join(to))
    }
}

impl Machine for Services {
    type Followed = ();

    async fn kubelet_unit(&self, _: NodeRuntime) -> String {
        "kubelet.service".to_owned()
    }

    fn has_images(&self) -> bool {
        false
    }

    async fn carry_out(&self, actions: &[Action]) -> Result<(), String> {
        for action in actions {
            if self.0.join("run/deaf").exists() && self.runs_broken() {
                return Err("systemd does not answer".to_owned());
            }
            let done = match action {
                Action::DaemonReload => self.copy(DROP_IN, LOADED),
                Action::Restart(unit) if unit == "kubelet.service" => self.copy(LOADED, RUNNING),
                other => panic!("nobody asked for {other:?}"),
            };
            done.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    async fn proof(&self, (): ()) -> Result<(), String> {
        if self.runs_broken() { Err("the kubelet exits".to_owned()) } else { Ok(()) }
    }
}

/// Everything here is ready at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// Brings a configuration, or takes all of them away.
pub(crate) fn run(name: &str, root: &Path) -> Result<(), UpdateError> {
    let mut transactions = Transactions::open(HostRoot::open(root)?, Duration::ZERO)?;
    let services = Services(root.to_owned());
    let brought = match name {
        "none" => now(update::restore(&mut transactions, &services))?.0,
        name => now(update::bring(&mut transactions, &format!("crio-{name}"), &files(name), &services))?,
    };
    match (name, brought) {
        ("broken", Brought::RolledBack { why }) => assert_eq!(why, "the kubelet exits"),
        (_, Brought::Applied) => {}
        (name, other) => panic!("{name}: {other:?}"),
    }
    Ok(())
}

/// What the next agent makes of it: the files are those of one configuration, it is not the broken one, and services run with them.
fn check(stage: &Stage, allowed: &[&str], what: &str) {
    let services = Services(stage.root().to_owned());
    let mut transactions = stage.open().unwrap();
    now(update::recover(&mut transactions, &services)).unwrap();
    let configuration = transactions.configuration().map(str::to_owned);
    let read = |path: &str| fs::read_to_string(stage.path(path)).unwrap_or_default();
    let name = configuration.as_deref().map_or("", |name| name.strip_prefix("crio-").unwrap());
    assert!(allowed.contains(&name), "{what}: {name}");
    assert_eq!(read(DROP_IN), name, "{what}");
    assert_eq!(read(RUNNING), name, "{what}: the kubelet runs with other files");
    for file in files(name) {
        let path = file.path().as_str().trim_start_matches('/');
        assert_eq!(stage.path(path).exists(), !name.is_empty(), "{what}: {path}");
    }
    let journal = fs::read_to_string(stage.path(STATE).join("journal.json")).unwrap();
    assert!(!journal.contains("\"phase\""), "{what}: {journal}");
}

fn killed_at_each(deed: Deed, allowed: &[&str]) {
    let (calls, ready, killed) = (deed.calls(), deed.stage(), AtomicUsize::new(0));
    for_each(&calls, |call @ Call(name, nth)| {
        let stage = ready.copy();
        let inject = format!("inject={name}:signal=KILL:when={nth}");
        let ran = deed.traced(&stage, &["-o", "/dev/null", "-e", &inject]);
        killed.fetch_add(usize::from(!ran.status.success()), Ordering::SeqCst);
        check(&stage, allowed, &format!("killed at {call:?}"));
    });
    let killed = killed.into_inner();
    println!("killed at {killed} of {} system calls", calls.len());
    assert!(killed + 4 > calls.len(), "{calls:?}");
}

pub(crate) fn killed_at_each_system_call_of_one_that_works() {
    killed_at_each(WORKS, &["one", "two"]);
}

pub(crate) fn killed_at_each_system_call_of_one_that_does_not() {
    killed_at_each(BREAKS, &["one"]);
}

pub(crate) fn killed_at_each_system_call_of_taking_it_away() {
    killed_at_each(RESTORES, &["one", ""]);
}

/// What did not work and could not be taken back is taken back later, and is not taken for something that works.
pub(crate) fn services_that_do_not_follow_back_are_told_again() {
    let stage = Stage::new();
    run("one", stage.root()).unwrap();
    fs::write(stage.path("run/deaf"), "").unwrap();
    let services = Services(stage.root().to_owned());
    let mut transactions = stage.open().unwrap();
    let failed =
        now(update::bring(&mut transactions, "crio-broken", &files("broken"), &services)).unwrap_err();
    let told = failed.to_string();
    assert!(told.contains("the kubelet exits") && told.contains("systemd does not answer"), "{told}");
    assert!(
        now(update::bring(&mut transactions, "crio-two", &files("two"), &services)).is_err(),
        "one thing at a time"
    );
    fs::remove_file(stage.path("run/deaf")).unwrap();
    let (target, _) = now(update::recover(&mut transactions, &services)).unwrap().unwrap();
    assert_eq!(target.as_deref(), Some("crio-broken"));
    drop(transactions);
    check(&stage, &["one"], "told again");
}
