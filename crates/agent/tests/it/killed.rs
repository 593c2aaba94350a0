//! An agent killed at each of its system calls: the next one finishes or undoes what it left.

use std::os::unix::process::ExitStatusExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::traced::{Call, Deed, FINISH, FIRST_SWITCH, RESTORE, ROLL_BACK, SWITCH, Trees, UNDO, for_each};

pub(crate) fn at_each_system_call_of_a_first_switch() {
    killed_at_each(FIRST_SWITCH);
}

pub(crate) fn at_each_system_call_of_a_switch() {
    killed_at_each(SWITCH);
}

pub(crate) fn at_each_system_call_of_a_roll_back() {
    killed_at_each(ROLL_BACK);
}

pub(crate) fn at_each_system_call_of_restoring() {
    killed_at_each(RESTORE);
}

pub(crate) fn at_each_system_call_of_finishing() {
    killed_at_each(FINISH);
}

pub(crate) fn at_each_system_call_of_undoing() {
    killed_at_each(UNDO);
}

fn killed_at_each(deed: Deed) {
    let (calls, trees, killed) = (deed.calls(), Trees::new(), AtomicUsize::new(0));
    let ready = deed.stage();
    for_each(&calls, |call @ Call(name, nth)| {
        let stage = ready.copy();
        let inject = format!("inject={name}:signal=KILL:when={nth}");
        let ran = deed.traced(&stage, &["-o", "/dev/null", "-e", &inject]);
        killed.fetch_add(usize::from(ran.status.signal() == Some(9)), Ordering::SeqCst);
        trees.check_both_ways(stage, &format!("killed at {call:?}"));
    });
    let killed = killed.into_inner();
    println!("killed at {killed} of {} system calls", calls.len());
    // How often memory is asked for differs by a call or two between runs.
    assert!(killed + 4 > calls.len(), "{calls:?}");
}
