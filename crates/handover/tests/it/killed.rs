//! A plugin killed at each of its system calls: never a partial file, and what it left is swept.

use std::collections::HashMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pullwright_handover::{Bounds, TicketTaker};

use crate::actor::{id_of, name};
use crate::stage::{Stage, swept_after, until};

/// How many plugins die at a time: most of the time they are dead, and only the sweeper's sleep is waited for.
const AT_A_TIME: usize = 8;

/// When what they left is swept; long enough for a plugin under a tracer to be done.
const SWEPT: Duration = Duration::from_secs(2);

/// A system call of a run: its name, and the how-manieth of that name it is.
#[derive(Debug, Clone)]
struct Call(String, usize);

/// What the plugin does when it is killed.
#[derive(Clone, Copy)]
struct Deed {
    role: &'static str,
    bounds: Bounds,
    /// Sets the scene; what it returns lasts as long as the scene does.
    before: fn(&Stage) -> Option<TicketTaker>,
}

fn killed_at_each(deed: Deed) {
    // The shorter of two: one that had to wait for its locks makes calls that others do not.
    let calls = [calls_of(deed), calls_of(deed)];
    let calls = calls.into_iter().min_by_key(Vec::len).expect("two runs");
    let moves = calls.iter().filter(|Call(name, _)| name.starts_with("renameat")).count();
    assert!(calls.len() > 30 && moves > 0, "the tracer saw no put: {calls:?}");
    let (left, killed) = (Mutex::new(calls.iter()), AtomicUsize::new(0));
    let next = || left.lock().expect("no test has failed").next();
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(call) = next() {
                    killed.fetch_add(usize::from(killed_at(call, deed)), Ordering::SeqCst);
                }
            });
        }
    });
    let killed = killed.into_inner();
    println!("killed at {killed} of {} system calls", calls.len());
    // How often a plugin looks while it waits differs between runs, so a few of the calls may not come again.
    assert!(killed * 5 > calls.len() * 4, "{calls:?}");
}

/// Whether the plugin was killed, and not done before.
fn killed_at(call: &Call, deed: Deed) -> bool {
    let stage = Stage::new(deed.bounds);
    let _taker = (deed.before)(&stage);
    let inject = format!("inject={}:signal=KILL:when={}", call.0, call.1);
    let status = traced(&stage, deed, &["-o", "/dev/null", "-e", &inject]);
    // What a taker would find is whole. Files still being written begin with a dot, and nobody takes those.
    for file in stage.names().iter().filter(|name| !name.contains(".auth-")) {
        // The sweeper may have been faster.
        if let Ok(read) = fs::read(stage.auth().join(file)) {
            id_of(&read);
        }
    }
    // Nobody puts any more. If the plugin left something, it also left somebody who removes it.
    until(&format!("what a plugin killed at {call:?} left is swept"), || stage.names().is_empty());
    status.signal() == Some(9)
}

/// The system calls of a plugin that is not killed, from the first that names the auth folder on.
fn calls_of(deed: Deed) -> Vec<Call> {
    let stage = Stage::new(deed.bounds);
    let _taker = (deed.before)(&stage);
    let log = stage.path("calls");
    let status = traced(&stage, deed, &["-o", log.to_str().expect("a path in text")]);
    assert!(status.success(), "{status}");
    let (mut seen, mut calls, mut begun) = (HashMap::new(), Vec::new(), false);
    for line in fs::read_to_string(log).expect("a log").lines() {
        let Some((name, arguments)) = line.split_once('(') else {
            continue;
        };
        let nth = seen.entry(name.to_owned()).and_modify(|nth| *nth += 1).or_insert(1);
        begun |= name != "execve" && arguments.contains(&stage.scene.auth);
        if begun {
            calls.push(Call(name.to_owned(), *nth));
        }
    }
    calls
}

/// Runs a plugin under the tracer. What it starts is not traced: the sweeper lives on.
fn traced(stage: &Stage, deed: Deed, options: &[&str]) -> ExitStatus {
    let plugin = stage.plugin_that(deed.role, "a", "new");
    Command::new("strace")
        .args(options)
        .arg(plugin.get_program())
        .args(plugin.get_args())
        .stdout(Stdio::null())
        .status()
        .expect("strace (package strace) is installed")
}

pub(crate) fn at_each_system_call_of_a_put() {
    killed_at_each(Deed { role: "put", bounds: swept_after(SWEPT), before: |_| None });
}

pub(crate) fn at_each_system_call_of_a_put_that_replaces() {
    let bounds = Bounds { stood: Duration::from_millis(100), ..swept_after(SWEPT) };
    let before = |stage: &Stage| {
        stage.put(&name("a"), "earlier").expect("it is put");
        None
    };
    killed_at_each(Deed { role: "put", bounds, before });
}

pub(crate) fn at_each_system_call_of_a_put_for_a_ticket() {
    let before = |stage: &Stage| Some(stage.handover().take_tickets().expect("a lock for tickets"));
    killed_at_each(Deed { role: "put-for-ticket", bounds: swept_after(SWEPT), before });
}
