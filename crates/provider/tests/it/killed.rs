//! The plugin killed at each of its system calls: never a partial file, and what it left is swept.

use std::collections::HashMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use pullwright_handover::{Bounds, Handover};

use crate::cluster::Cluster;
use crate::inputs::request;
use crate::stage::{IMAGE, MIRRORED, NAMESPACE, Stage, until};

/// How many plugins die at a time.
const AT_A_TIME: usize = 4;

/// A system call of a run: its name, and the how-manieth of that name it is.
#[derive(Debug, Clone)]
struct Call(String, usize);

#[test]
fn at_each_system_call() {
    let cluster = Cluster::with_secret();
    let calls = calls_of_a_run(&cluster);
    let moves = calls.iter().filter(|Call(name, _)| name.starts_with("renameat")).count();
    assert!(calls.len() > 50 && moves == 1, "the tracer saw no run: {calls:?}");
    let (left, killed) = (Mutex::new(calls.iter()), AtomicUsize::new(0));
    let next = || left.lock().expect("no other has failed").next();
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(call) = next() {
                    killed.fetch_add(usize::from(is_killed_at(call, &cluster)), Ordering::SeqCst);
                }
            });
        }
    });
    let killed = killed.into_inner();
    println!("killed at {killed} of {} system calls", calls.len());
    // How often memory is asked for, or a folder looked at, differs by a call or two between runs.
    assert!(killed + 4 > calls.len(), "{calls:?}");
}

/// Whether the plugin was killed, and not done before. Whatever it left is whole, and somebody is there to remove it.
fn is_killed_at(call: &Call, cluster: &Cluster) -> bool {
    let stage = Stage::new();
    let inject = format!("inject={}:signal=KILL:when={}", call.0, call.1);
    let status = traced(&stage, cluster, &["-o", "/dev/null", "-e", &inject]);
    let left = stage.left();
    if left.is_empty() {
        return status.signal() == Some(9);
    }
    assert_eq!(left.len(), 1, "killed at {call:?}");
    let file = stage.auth_file(NAMESPACE, IMAGE);
    if file.exists() {
        assert_eq!(stage.users_for(&[MIRRORED]), [Some("puller".to_owned())], "killed at {call:?}");
    } else {
        assert!(left[0].starts_with(".auth-"), "killed at {call:?}: {left:?}");
    }
    until(&format!("a sweeper lives after {call:?}"), || !stage.sweepers().is_empty());
    // What it will do at the bound, which is longest for what was being written.
    let bounds = Bounds::default();
    let handover = Handover::open(&stage.auth_dir(), &stage.path("locks"), bounds).unwrap();
    handover.sweep_once(SystemTime::now() + bounds.sweep.temporary).unwrap();
    assert_eq!(stage.left(), [""; 0], "killed at {call:?}");
    status.signal() == Some(9)
}

/// The system calls of a run that is not killed, from the reading of the request on.
fn calls_of_a_run(cluster: &Cluster) -> Vec<Call> {
    let stage = Stage::new();
    let log = stage.path("calls");
    let status = traced(&stage, cluster, &["-o", log.to_str().expect("a path in text")]);
    assert!(status.success(), "{status}");
    let log = fs::read_to_string(log).expect("a log");
    let (mut seen, mut calls, mut begun) = (HashMap::new(), Vec::new(), false);
    for line in log.lines() {
        let Some((name, arguments)) = line.split_once('(') else { continue };
        let nth = seen.entry(name.to_owned()).and_modify(|nth| *nth += 1).or_insert(1);
        begun |= name == "read" && arguments.starts_with("0,");
        if begun {
            calls.push(Call(name.to_owned(), *nth));
        }
    }
    calls
}

/// Runs a plugin under the tracer. What it starts is not traced: the sweeper lives on.
fn traced(stage: &Stage, cluster: &Cluster, options: &[&str]) -> ExitStatus {
    stage.write("request", &request(&cluster.token));
    let plugin = cluster.plugin_on(stage);
    Command::new("strace")
        .args(options)
        .arg(plugin.command.get_program())
        .args(plugin.command.get_args())
        .stdin(fs::File::open(stage.path("request")).expect("the request"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("strace (package strace) is installed")
}

/// A core would hold the token and every credential. From before the request is read, there is none, whatever the
/// machine does with cores otherwise.
#[test]
fn it_leaves_no_core() {
    let (stage, cluster) = (Stage::new(), Cluster::with_secret());
    let log = stage.path("calls");
    let options = ["-o", log.to_str().expect("a path in text"), "-e", "trace=prctl,read"];
    assert!(traced(&stage, &cluster, &options).success());
    let log = fs::read_to_string(log).expect("a log");
    let before_the_request = log.lines().take_while(|line| !line.starts_with("read(0,"));
    let dumpable = before_the_request.filter(|line| line.starts_with("prctl(PR_SET_DUMPABLE"));
    assert_eq!(dumpable.collect::<Vec<_>>(), ["prctl(PR_SET_DUMPABLE, SUID_DUMP_DISABLE) = 0"]);
}

/// Nor does `check`, which reads the same.
#[test]
fn check_leaves_no_core() {
    let stage = Stage::with_secret_on_the_node();
    stage.write("request", &request(&crate::inputs::token(NAMESPACE)));
    let log = stage.path("calls");
    let plugin = stage.plugin_with_folder().args(&["check", "--request"]).arg(stage.path("request"));
    let mut command = Command::new("strace");
    command.arg("-o").arg(&log).args(["-e", "trace=prctl,openat"]).arg(plugin.command.get_program());
    assert!(command.args(plugin.command.get_args()).output().expect("strace").status.success());
    let log = fs::read_to_string(log).expect("a log");
    let before_the_request = log.lines().take_while(|line| !line.contains("/request\""));
    let dumpable = before_the_request.filter(|line| line.starts_with("prctl(PR_SET_DUMPABLE"));
    assert_eq!(dumpable.collect::<Vec<_>>(), ["prctl(PR_SET_DUMPABLE, SUID_DUMP_DISABLE) = 0"]);
}
