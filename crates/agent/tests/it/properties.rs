//! Any sequence of switches, roll-backs and edits: the files are those that the last decision asked for.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::agent::{restore, settle};
use crate::stage::{STATE, Stage, Tree, file, files, idle};
use pullwright_agent::transaction::{Applied, Recovery, Switched};

/// Some of these exist before, some have folders that are missing.
const PATHS: [&str; 5] =
    ["/etc/registries.conf", "/etc/crio/keep.conf", "/etc/new/a", "/etc/new/deep/b", "/opt/c"];

/// The content and mode of some paths.
type Set = BTreeMap<&'static str, (u8, u32)>;

fn sets() -> impl Strategy<Value = Set> {
    let file = (0..3u8, prop::sample::select(vec![0o644, 0o600]));
    prop::collection::btree_map(prop::sample::select(PATHS.to_vec()), file, 0..PATHS.len())
}

#[derive(Debug, Clone, Copy)]
enum End {
    Commit,
    RollBack,
    /// The agent ends, and the next one commits or rolls back.
    Dropped(bool),
}

fn ends() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Commit), Just(End::RollBack), any::<bool>().prop_map(End::Dropped)]
}

pub(crate) fn switches_in_any_order_end_where_they_should() {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(64) });
    runner
        .run(&prop::collection::vec((sets(), ends()), 1..6), |steps| {
            let stage = Stage::new();
            let before = stage.tree();
            let mut last = stage.tree();
            for (set, end) in steps {
                let next = expected(&before, &set);
                let committed = switch(&stage, &set, end);
                let now = stage.tree();
                prop_assert_eq!(&files(&now), &if committed { next } else { files(&last) });
                last = now;
            }
            restore(stage.open().unwrap()).unwrap();
            prop_assert_eq!(stage.tree(), before);
            prop_assert!(!fs::exists(stage.path(STATE)).unwrap());
            Ok(())
        })
        .unwrap();
}

/// Whether the set is what the node has now.
fn switch(stage: &Stage, set: &Set, end: End) -> bool {
    let wanted: Vec<_> =
        set.iter().map(|(path, (content, mode))| file(path, *mode, &format!("content {content}"))).collect();
    let mut transactions = stage.open().unwrap();
    let Switched::Applied(switched) = idle(&mut transactions).switch("c", &wanted).unwrap() else {
        return true;
    };
    let commit = matches!(end, End::Commit | End::Dropped(true));
    if let End::Dropped(_) = end {
        drop(transactions);
        transactions = stage.open().unwrap();
        let Recovery::Applied(switched) = transactions.recover() else { panic!("it was applied") };
        finish(switched, commit);
    } else {
        finish(switched, commit);
    }
    commit
}

fn finish(switched: Applied<'_>, commit: bool) {
    if commit {
        switched.commit().unwrap();
    } else {
        settle(switched.roll_back().unwrap()).unwrap();
    }
}

/// The files of a node that had those and has a set.
fn expected(before: &Tree, set: &Set) -> Tree {
    let mut tree = files(before);
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    for (path, (content, mode)) in set {
        let what = format!("10{mode:04o} {uid}:{gid} note 0 content {content}");
        tree.insert(path.trim_start_matches('/').into(), what);
    }
    tree
}
