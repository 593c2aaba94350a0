//! A new version takes over while calls run.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Frame;
use pullwright_handover::{AuthFileName, AuthFolder};
use pullwright_testkit::containerd::image_service;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::caller::{Answer, Caller, PULL, framed, whole};
use crate::containerd::{Containerd, Frames, Reply, status};
use crate::running::{Place, Running, auth_file, pull, pull_with_ticket};

/// A node whose service is started from a path at which a test can put another program.
struct Node {
    place: Place,
}

impl Node {
    fn new() -> Self {
        let node = Self { place: Place::new() };
        symlink(env!("CARGO_BIN_EXE_pullwright-images"), node.program()).unwrap();
        node
    }

    fn program(&self) -> PathBuf {
        self.place.path("program")
    }

    fn command(&self) -> Command {
        image_service(&self.program(), self.place.path("").as_path()).unwrap()
    }

    async fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command();
        command.args(arguments);
        Running::start(command).await
    }

    /// Replaces the program by a rename.
    fn install(&self, script: &str) {
        let beside = self.place.path("program.new");
        // Written by another process: a copy of a descriptor for writing in a child of another test would keep the
        // program from being started.
        let written = Command::new("sh")
            .args(["-c", "printf '%s' \"$1\" > \"$2\" && chmod 755 \"$2\"", "-", script])
            .arg(&beside)
            .status();
        assert!(written.unwrap().success());
        fs::rename(beside, self.program()).unwrap();
    }

    /// Installs a version that says so in the log.
    fn install_version(&self, name: &str) {
        let real = env!("CARGO_BIN_EXE_pullwright-images");
        self.install(&format!("#!/bin/sh\necho 'this is {name}' >&2\nexec {real} \"$@\"\n"));
    }

    /// What `systemctl reload` does.
    async fn reload(&self) -> Output {
        let mut command = self.place.command();
        command.arg("--reload").stderr(Stdio::piped());
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    }

    async fn reloaded(&self) -> Pid {
        let output = self.reload().await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.serving().unwrap()
    }

    /// The process that serves.
    fn serving(&self) -> Option<Pid> {
        let stream = UnixStream::connect(self.place.socket()).ok()?;
        Some(rustix::net::sockopt::socket_peercred(stream).unwrap().pid)
    }

    async fn metrics(&self) -> String {
        let mut stream = tokio::net::UnixStream::connect(self.place.path("metrics.sock")).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

impl Drop for Node {
    /// Ends processes that are nobody's children.
    fn drop(&mut self) {
        while let Some(process) = self.serving() {
            let _ = kill_process(process, Signal::KILL);
            std::thread::sleep(Duration::from_millis(5));
            if test_kill_process(process).is_ok() && self.serving() == Some(process) {
                // A predecessor is about to serve again, or a zombie waits for its parent.
                std::thread::sleep(Duration::from_millis(50));
                if self.serving() == Some(process) {
                    break;
                }
            }
        }
    }
}

/// Calls as the kubelet does: when its connection has ended, it connects and calls again. That is right only for calls
/// that the service did not pass on, so a test must compare with what containerd has seen.
struct Kubelet {
    socket: PathBuf,
    connection: tokio::sync::Mutex<Caller>,
}

impl Kubelet {
    async fn connect(socket: &Path) -> Self {
        Self { socket: socket.to_owned(), connection: Caller::connect(socket).await.into() }
    }

    async fn call(&self, method: &str, message: &[u8]) -> Answer {
        loop {
            let caller = self.connection.lock().await.clone();
            if let Ok(response) = caller.send(method, &[], framed(message)).await {
                return whole(response).await.unwrap();
            }
            *self.connection.lock().await = Caller::connect(&self.socket).await;
        }
    }
}

/// A containerd that answers other calls at once, and pulls of `long` when the test says so.
fn containerd(place: &Place) -> (Containerd, UnboundedReceiver<Frames>) {
    let (to_test, from_containerd) = unbounded_channel();
    let containerd = Containerd::start(&place.containerd(), move |seen| {
        if !seen.body.windows(4).any(|word| word == b"long") {
            return Reply::Message(b"served");
        }
        let to_test = to_test.clone();
        Reply::Stream(Box::new(move |frames| to_test.send(frames).unwrap()))
    });
    (containerd, from_containerd)
}

fn finish(frames: &Frames) {
    frames.send(Ok(Frame::data(framed(b"pulled")))).unwrap();
    frames.send(Ok(Frame::trailers(status(0, "")))).unwrap();
}

/// Begins a long pull on a connection of its own, and returns it with what ends it.
async fn long_pull(
    place: &Place,
    from_containerd: &mut UnboundedReceiver<Frames>,
) -> (tokio::task::JoinHandle<Answer>, Frames) {
    let caller = place.caller().await;
    let pulling =
        tokio::spawn(async move { caller.call(PULL, &pull("registry.example/long", "team-a", None)).await });
    (pulling, from_containerd.recv().await.unwrap())
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_mins(1), waiting).await.is_ok(), "{what}");
}

#[tokio::test]
async fn a_running_pull_ends_in_the_old_process_and_the_new_one_serves_all_other_calls() {
    let node = Node::new();
    let (_containerd, mut from_containerd) = containerd(&node.place);
    let metrics = node.place.path("metrics.sock");
    let mut old = node.start(&["--drain", "0", "--metrics", metrics.to_str().unwrap()]).await;
    let kubelet = Kubelet::connect(&node.place.socket()).await;
    let (pulling, frames) = long_pull(&node.place, &mut from_containerd).await;
    let before = fs::metadata(node.place.socket()).unwrap();

    node.install_version("version two");
    let new = node.reloaded().await;
    assert_ne!(new, Pid::from_child(&old.child));
    old.until_log("this is version two").await;
    let after = fs::metadata(node.place.socket()).unwrap();
    assert_eq!(
        (after.mode(), after.ino()),
        (before.mode(), before.ino()),
        "the kubelet's socket is the same"
    );

    assert_eq!(kubelet.call("ImageStatus", b"").await.data, framed(b"served"));
    node.place.put("team-a", "docker.io/library/nginx", &auth_file(&[("docker.io", "u")]));
    assert_eq!(kubelet.call(PULL, &pull_with_ticket("nginx", "team-a")).await.code(), 0);
    let counted = node.metrics().await;
    for line in ["calls_total{method=\"ImageStatus\",code=\"0\"} 1", "claims_total{result=\"taken\"} 1"] {
        assert!(counted.contains(&format!("\npullwright_images_{line}\n")), "{line} is not in {counted}");
    }

    assert!(!pulling.is_finished() && old.child.try_wait().unwrap().is_none());
    finish(&frames);
    let pulled = pulling.await.unwrap();
    assert_eq!((pulled.code(), pulled.data), (0, framed(b"pulled")));
    assert_eq!(old.ended().await.code(), Some(0));
    assert_eq!(node.serving(), Some(new), "the socket stays when the old process ends");
    assert_eq!(kubelet.call("ImageStatus", b"").await.code(), 0);
    kill_process(new, Signal::TERM).unwrap();
    until("the new process removes the socket at its end", || !node.place.socket().exists()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_of_a_burst_fails_during_several_reloads() {
    let node = Node::new();
    let containerd = Containerd::start(&node.place.containerd(), |_| Reply::Message(b"served"));
    let _first = node.start(&["--drain", "0"]).await;
    let stop = Arc::new(AtomicBool::new(false));
    let calling: Vec<_> = (0..12)
        .map(|number| {
            let (socket, stop) = (node.place.socket(), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut kubelet = Kubelet::connect(&socket).await;
                let mut calls = 0;
                while !stop.load(Ordering::Relaxed) {
                    let message = pull("registry.example/image", "team-a", None);
                    let answer =
                        kubelet.call(if number % 2 == 0 { PULL } else { "ImageStatus" }, &message).await;
                    assert_eq!((answer.code(), answer.data), (0, framed(b"served")));
                    calls += 1;
                    // Some come anew for each call, so that connections wait to be accepted at every moment.
                    if number % 3 == 0 {
                        kubelet = Kubelet::connect(&socket).await;
                    }
                }
                calls
            })
        })
        .collect();
    let mut served = vec![node.serving().unwrap()];
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        served.push(node.reloaded().await);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    stop.store(true, Ordering::Relaxed);
    let mut answered = 0;
    for calls in calling {
        let calls = calls.await.unwrap();
        assert!(calls > 0);
        answered += calls;
    }
    assert_eq!(containerd.seen().len(), answered, "every call that reached containerd was answered");
    served.sort_unstable_by_key(|process| process.as_raw_pid());
    served.dedup();
    assert_eq!(served.len(), 6, "each reload brought another process");
}

#[tokio::test]
async fn a_new_program_that_does_not_come_up_changes_nothing() {
    let node = Node::new();
    let (_containerd, mut from_containerd) = containerd(&node.place);
    let mut old = node.start(&[]).await;
    let kubelet = Kubelet::connect(&node.place.socket()).await;
    let (pulling, frames) = long_pull(&node.place, &mut from_containerd).await;
    for (script, said) in [
        ("#!/bin/sh\nexit 3\n", "ended (exit status: 3) before it was ready"),
        ("#!/bin/sh\necho hello\nexec sleep 600\n", "does not answer as a successor"),
        ("#!/nonexistent\n", "cannot start"),
        ("#!/bin/sh\nexec sleep 600\n", "is not ready after 10 s"),
    ] {
        node.install(script);
        old.signal(Signal::HUP);
        old.until_log(said).await;
        assert_eq!(node.serving(), Some(Pid::from_child(&old.child)), "{script}");
        assert_eq!(kubelet.call("ImageStatus", b"").await.code(), 0);
    }
    finish(&frames);
    assert_eq!(pulling.await.unwrap().code(), 0);
    node.install_version("version two");
    node.reloaded().await;
    assert_eq!(old.ended().await.code(), Some(0));
}

#[tokio::test]
async fn reload_says_that_the_old_process_goes_on_or_that_there_is_none() {
    let node = Node::new();
    let output = node.reload().await;
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no service listens on"), "{output:?}");
    let old = node.start(&[]).await;
    node.install("#!/bin/sh\nexit 1\n");
    let output = node.reload().await;
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&format!("process {} goes on serving", old.child.id())), "{said}");
}

#[tokio::test]
async fn if_the_new_process_crashes_the_old_one_serves_again_while_it_is_there() {
    let node = Node::new();
    let (_containerd, mut from_containerd) = containerd(&node.place);
    let metrics = node.place.path("metrics.sock");
    let mut old = node.start(&["--metrics", metrics.to_str().unwrap()]).await;
    let (pulling, frames) = long_pull(&node.place, &mut from_containerd).await;
    let new = node.reloaded().await;
    kill_process(new, Signal::KILL).unwrap();
    old.until_log("this one serves again").await;
    assert_eq!(node.serving(), Some(Pid::from_child(&old.child)));
    let later = Kubelet::connect(&node.place.socket()).await;
    assert_eq!(later.call("ImageStatus", b"").await.code(), 0);
    assert!(node.metrics().await.contains("calls_total{method=\"ImageStatus\",code=\"0\"} 1"));

    // And it can be replaced again.
    let newer = node.reloaded().await;
    assert_ne!(newer, new);
    finish(&frames);
    assert_eq!(pulling.await.unwrap().code(), 0);
    assert_eq!(old.ended().await.code(), Some(0));
    assert_eq!(later.call("ImageStatus", b"").await.code(), 0);
}

#[tokio::test]
async fn several_old_processes_finish_their_pulls_and_leave_the_service_to_the_newest() {
    let node = Node::new();
    let (_containerd, mut from_containerd) = containerd(&node.place);
    let mut first = node.start(&[]).await;
    let kubelet = Kubelet::connect(&node.place.socket()).await;
    let (pulling_first, frames_first) = long_pull(&node.place, &mut from_containerd).await;
    let second = node.reloaded().await;
    let (pulling_second, frames_second) = long_pull(&node.place, &mut from_containerd).await;
    let third = node.reloaded().await;
    assert_ne!(second, third);
    finish(&frames_second);
    assert_eq!(pulling_second.await.unwrap().code(), 0);
    until("the second ends", || test_kill_process(second).is_err()).await;
    assert_eq!(node.serving(), Some(third));

    // A second one that is killed when it no longer serves does not make the first serve again.
    let (pulling_third, _frames) = long_pull(&node.place, &mut from_containerd).await;
    let fourth = node.reloaded().await;
    kill_process(third, Signal::KILL).unwrap();
    assert!(tokio::time::timeout(Duration::from_mins(1), pulling_third).await.unwrap().is_err());
    assert_eq!(kubelet.call("ImageStatus", b"").await.code(), 0);
    assert_eq!(node.serving(), Some(fourth));
    assert!(!first.log().contains("serves again"), "{}", first.log());
    finish(&frames_first);
    assert_eq!(pulling_first.await.unwrap().code(), 0);
    assert_eq!(first.ended().await.code(), Some(0));
    assert_eq!(kubelet.call("ImageStatus", b"").await.code(), 0);
}

#[tokio::test]
async fn an_old_process_that_is_told_to_stop_has_the_usual_time_and_leaves_the_socket() {
    let node = Node::new();
    let (_containerd, mut from_containerd) = containerd(&node.place);
    let mut old = node.start(&["--drain", "0"]).await;
    let kubelet = Kubelet::connect(&node.place.socket()).await;
    let (pulling, _frames) = long_pull(&node.place, &mut from_containerd).await;
    let new = node.reloaded().await;
    old.signal(Signal::TERM);
    assert_eq!(old.ended().await.code(), Some(0));
    assert!(pulling.await.is_err(), "it was cut off");
    assert_eq!(node.serving(), Some(new));
    assert_eq!(kubelet.call("ImageStatus", b"").await.code(), 0);
}

#[tokio::test]
async fn a_caller_that_only_connects_does_not_keep_the_old_process() {
    let node = Node::new();
    let mut old = node.start(&[]).await;
    let _silent = UnixStream::connect(node.place.socket()).unwrap();
    let _idle = Caller::connect(&node.place.socket()).await;
    node.reloaded().await;
    assert_eq!(old.ended().await.code(), Some(0));
}

#[tokio::test]
async fn systemd_is_told_who_serves_and_hears_from_that_process() {
    let node = Node::new();
    let path = node.place.path("notify.sock");
    let systemd = UnixDatagram::bind(&path).unwrap();
    systemd.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let next = || {
        let mut text = [0; 128];
        let length = systemd.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    // Past the keep-alives, which come at any time.
    let next_but_alive = || loop {
        let said = next();
        if said != "WATCHDOG=1" {
            break said;
        }
    };
    let mut command = node.command();
    // The shell keeps its process id for the service, as systemd knows that of a service it starts.
    let program = command.get_program().to_owned();
    let mut shell = Command::new("sh");
    shell.args(["-c", "WATCHDOG_PID=$$ exec \"$0\" \"$@\""]).arg(program).args(command.get_args());
    shell.env_clear().env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "20000").env("LISTEN_FDS", "1");
    command = shell;
    let mut old = Running::start(command).await;
    assert_eq!(next_but_alive(), "READY=1");
    node.install("#!/bin/sh\nexit 1\n");
    old.signal(Signal::HUP);
    assert_eq!([next_but_alive(), next_but_alive()], ["RELOADING=1", "READY=1"]);

    let real = env!("CARGO_BIN_EXE_pullwright-images");
    node.install(&format!("#!/bin/sh\nenv >&2\nexec {real} \"$@\"\n"));
    let new = node.reloaded().await;
    assert_eq!(next_but_alive(), "RELOADING=1");
    assert_eq!(next_but_alive(), format!("MAINPID={}\nREADY=1\nWATCHDOG=1", new.as_raw_pid()));
    assert_eq!(old.ended().await.code(), Some(0));
    until("the new one says that it serves", || old.log().matches("serving on").count() == 2).await;
    assert!(old.log().contains("\nWATCHDOG_USEC=20000\n"), "{}", old.log());
    for name in ["WATCHDOG_PID=", "LISTEN_FDS="] {
        assert!(!old.log().contains(name), "{}", old.log());
    }
    systemd.set_nonblocking(true).unwrap();
    while systemd.recv(&mut [0; 128]).is_ok() {}
    systemd.set_nonblocking(false).unwrap();
    assert_eq!([next(), next()], ["WATCHDOG=1", "WATCHDOG=1"], "the new process is alive");
    kill_process(new, Signal::TERM).unwrap();
    assert_eq!(next_but_alive(), "STOPPING=1");
}

#[tokio::test]
async fn what_the_old_process_has_in_use_is_not_swept() {
    let node = Node::new();
    let take = || {
        node.place.put_without_ticket("team-a", "docker.io/library/nginx", &auth_file(&[("docker.io", "u")]));
        let name = node.place.credentials()[0].file_name().unwrap().to_str().unwrap().to_owned();
        let folder = AuthFolder::open(&node.place.path("auth")).unwrap();
        folder.claim(&AuthFileName::parse(&name).unwrap()).unwrap().unwrap()
    };
    // The first process finds nobody who serves, so it removes what is in use. The test goes on after that.
    std::mem::forget(take());
    let mut old = node.start(&["--remove-unclaimed-after", "1"]).await;
    until("it has swept", || node.place.credentials().is_empty()).await;
    let claim = take();
    node.place.put_without_ticket("team-b", "docker.io/library/nginx", &auth_file(&[("docker.io", "u")]));
    let in_use: Vec<_> = node
        .place
        .credentials()
        .into_iter()
        .filter(|path| path.parent().unwrap().ends_with("in-use"))
        .collect();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    node.reloaded().await;
    until("the new one has swept", || node.place.credentials().len() < 2).await;
    assert_eq!(node.place.credentials(), in_use);
    drop(claim);
    assert_eq!(old.ended().await.code(), Some(0));
}
