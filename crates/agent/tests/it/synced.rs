//! The order in which things reach the disk, as a tracer sees it: what a power cut leaves is what a kill leaves.

use std::collections::BTreeSet;
use std::fs;

use crate::stage::STATE;
use crate::traced::{Deed, FIRST_SWITCH, RESTORE, ROLL_BACK, SWITCH};

pub(crate) fn one_thing_is_on_disk_before_the_next_begins() {
    for deed in [FIRST_SWITCH, SWITCH, ROLL_BACK, RESTORE] {
        let (stage, log) = (deed.stage(), tempfile::NamedTempFile::new().unwrap());
        let calls = "trace=write,fsync,mkdirat,renameat,unlinkat";
        let ran = deed.traced(&stage, &["-y", "-e", calls, "-o", log.path().to_str().unwrap()]);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        check(deed, stage.root().to_str().unwrap(), &fs::read_to_string(log.path()).unwrap());
    }
}

fn check(deed: Deed, root: &str, log: &str) {
    let state = format!("{root}/{STATE}");
    // Files and folders that changed and are not on disk yet; how often the journal and files of the node were replaced.
    let (mut unsynced, mut journals, mut switched) = (BTreeSet::new(), 0, 0);
    for line in log.lines().filter(|line| line.contains(root) && !line.contains(" = -1 ")) {
        let (call, arguments) = line.split_once('(').unwrap();
        let opened = arguments.split(['<', '>']).nth(1).unwrap().to_owned();
        let named: Vec<_> = arguments.split('"').skip(1).step_by(2).collect();
        let is_state = opened.starts_with(&state);
        match call {
            "fsync" => drop(unsynced.remove(&opened)),
            // What is next to the journal goes to disk with it.
            "mkdirat" if opened == state => {}
            "write" | "mkdirat" => drop(unsynced.insert(opened)),
            "unlinkat" if line.contains("AT_REMOVEDIR") && !is_state => {
                // A folder that is gone needs no syncing itself.
                unsynced.remove(&format!("{opened}/{}", named[0]));
                unsynced.insert(opened);
            }
            // Contents, until the journal names them.
            "renameat" if is_state && opened != state => {
                assert!(!unsynced.contains(&format!("{opened}/{}", named[0])), "{deed:?}: {line}");
                unsynced.insert(opened);
            }
            "unlinkat" if is_state || named[0].starts_with('.') => {}
            "renameat" | "unlinkat" => {
                assert_eq!(unsynced, BTreeSet::new(), "{deed:?}: {line}");
                unsynced.insert(opened);
                journals += usize::from(is_state);
                switched += usize::from(!is_state);
                assert!(is_state || journals > 0, "{deed:?} switched before it said so: {line}");
            }
            _ => panic!("{line}"),
        }
    }
    assert_eq!(unsynced, BTreeSet::new(), "{deed:?}");
    assert!(switched > 3 && journals > 1, "the tracer saw {switched} files and {journals} journals");
}
