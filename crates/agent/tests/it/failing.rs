//! Errors of the disk at each system call, once and from then on: the files are old or new, and the error says where.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::stage::files;
use crate::traced::{Call, Deed, RESTORE, ROLL_BACK, SWITCH, Trees, for_each};

/// The calls that change or sync something, and what a disk does to them: an error that passes, or one that lasts (`+`). What the program does
/// does not depend on which error it is, so each call gets one of both kinds, and `rename` also that of a bind mount.
const ERRORS: &[(&str, &[(&str, &str)])] = &[
    ("openat", &[("ENOSPC", ""), ("EROFS", "+")]),
    ("mkdirat", &[("ENOSPC", ""), ("EROFS", "+")]),
    ("read", &[("EIO", "")]),
    ("write", &[("EIO", ""), ("ENOSPC", "+")]),
    ("fchmod", &[("EROFS", "")]),
    ("fchown", &[("EROFS", "")]),
    ("fsetxattr", &[("ENOSPC", "")]),
    ("fsync", &[("EIO", ""), ("ENOSPC", "+")]),
    ("renameat", &[("ENOSPC", ""), ("EBUSY", ""), ("EROFS", "+")]),
    ("unlinkat", &[("EIO", ""), ("EROFS", "+")]),
];

pub(crate) fn at_each_system_call_of_a_switch() {
    failing_at_each(SWITCH);
}

pub(crate) fn at_each_system_call_of_a_roll_back() {
    failing_at_each(ROLL_BACK);
}

pub(crate) fn at_each_system_call_of_restoring() {
    failing_at_each(RESTORE);
}

fn failing_at_each(deed: Deed) {
    let (calls, trees, failed) = (deed.calls(), Trees::new(), AtomicUsize::new(0));
    let mut cases = Vec::new();
    for call in calls {
        let errors = ERRORS.iter().find(|(name, _)| *name == call.0).map_or(&[][..], |(_, errors)| errors);
        cases.extend(errors.iter().map(|(error, on)| (call.clone(), *error, *on)));
    }
    let ready = deed.stage();
    for_each(&cases, |(call @ Call(name, nth), error, on)| {
        let (stage, what) = (ready.copy(), format!("{error}{on} at {call:?}"));
        let inject = format!("inject={name}:error={error}:when={nth}{on}");
        let ran = deed.traced(&stage, &["-o", "/dev/null", "-e", &inject]);
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.code().is_some(), "{what}: {said}");
        if !ran.status.success() {
            failed.fetch_add(1, Ordering::SeqCst);
            let could_speak = (name.as_str(), *on) != ("write", "+");
            let names_a_path = said.starts_with("cannot ") && said.contains(" /") || said.starts_with('/');
            assert_eq!(names_a_path, could_speak, "{what}: {said}");
        }
        // After an error that passes, the files are old or new at once. Folders may be left for the next start. Only going back
        // has nothing to go back to.
        if on.is_empty() && deed != ROLL_BACK {
            let files = files(&stage.tree());
            assert!(trees.have(&files), "{what}: {said}{files:#?}");
        }
        trees.check_both_ways(stage, &what);
    });
    let failed = failed.into_inner();
    println!("{failed} of {} errors were reported", cases.len());
    assert!(failed * 2 > cases.len(), "the others did not matter?");
}
