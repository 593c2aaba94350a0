//! An agent under a tracer, and what has to hold whatever happened to it.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::process::{Command, Output};
use std::sync::Mutex;

use pullwright_agent::transaction::Recovery;

use crate::agent;
use crate::stage::{STATE, Stage, Tree, files};

/// How many agents are traced at a time.
const AT_A_TIME: usize = 4;

/// A system call of a run: its name, and the how-manieth of that name it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call(pub(crate) String, pub(crate) usize);

/// The second switch, as if it had been killed when some files were switched and others not.
const HALF_B: &str = "half-b";

/// What an agent does, and what was done before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deed {
    pub(crate) before: &'static [&'static str],
    pub(crate) name: &'static str,
}

pub(crate) const FIRST_SWITCH: Deed = Deed { before: &[], name: "a" };
pub(crate) const SWITCH: Deed = Deed { before: &["a"], name: "b" };
pub(crate) const ROLL_BACK: Deed = Deed { before: &["a", "apply-b"], name: "roll-back" };
/// What the next agent does after one that was killed in the middle.
pub(crate) const FINISH: Deed = Deed { before: &["a", HALF_B], name: "finish" };
pub(crate) const UNDO: Deed = Deed { before: &["a", HALF_B], name: "undo" };
pub(crate) const RESTORE: Deed = Deed { before: &["a"], name: "restore" };

impl Deed {
    /// A node on which everything was done that comes before.
    pub(crate) fn stage(self) -> Stage {
        let stage = Stage::new();
        for deed in self.before {
            if *deed == HALF_B {
                agent::run("apply-b", stage.root());
                halve(&stage);
            } else {
                agent::run(deed, stage.root());
            }
        }
        stage
    }

    /// Runs the agent under the tracer.
    pub(crate) fn traced(self, stage: &Stage, options: &[&str]) -> Output {
        Command::new("strace")
            .args(options)
            .arg(std::env::current_exe().unwrap())
            .args(["agent", self.name])
            .arg(stage.root())
            .output()
            .expect("strace (package strace) is installed")
    }

    /// The system calls of a run, from the opening of the root on.
    pub(crate) fn calls(self) -> Vec<Call> {
        let (stage, log) = (self.stage(), tempfile::NamedTempFile::new().unwrap());
        let ran = self.traced(&stage, &["-o", log.path().to_str().unwrap()]);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let root = stage.root().to_str().unwrap();
        let (mut seen, mut calls, mut begun) = (HashMap::new(), Vec::new(), false);
        for line in fs::read_to_string(log.path()).unwrap().lines() {
            let Some((name, arguments)) = line.split_once('(') else { continue };
            let nth = seen.entry(name.to_owned()).and_modify(|nth| *nth += 1).or_insert(1);
            begun |= name != "execve" && arguments.contains(root);
            if begun {
                calls.push(Call(name.to_owned(), *nth));
            }
        }
        let renames = calls.iter().filter(|Call(name, _)| name.starts_with("rename")).count();
        assert!(calls.len() > 200 && renames > 4, "the tracer saw no switch: {calls:?}");
        calls
    }
}

/// Makes a switch that was applied one that was killed in the middle: two files are old, and one of them is staged.
fn halve(stage: &Stage) {
    let mut journal = stage.journal();
    journal["switch"]["phase"] = "intent".into();
    fs::write(stage.path(STATE).join("journal.json"), journal.to_string()).unwrap();
    fs::remove_file(stage.path("etc/new/deep/b.conf")).unwrap();
    stage.write("etc/registries.conf", "registries in a", 0o644);
    let id = journal["switch"]["id"].as_str().unwrap();
    stage.write(&format!("etc/.pullwright-{id}-3"), "registr", 0o600);
}

/// Does something for each, several at a time.
pub(crate) fn for_each<T: Sync>(cases: &[T], check: impl Fn(&T) + Sync) {
    let left = Mutex::new(cases.iter());
    let next = || left.lock().expect("no other has failed").next();
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(case) = next() {
                    check(case);
                }
            });
        }
    });
}

/// The files of a node by the configuration that it has.
pub(crate) struct Trees(BTreeMap<Option<String>, Tree>);

impl Trees {
    pub(crate) fn new() -> Self {
        let stage = Stage::new();
        let mut trees = BTreeMap::from([(None, stage.tree())]);
        for name in ["a", "b"] {
            agent::run(name, stage.root());
            trees.insert(Some(name.to_owned()), stage.tree());
        }
        Self(trees)
    }

    /// Whether the files are those of one configuration, whichever.
    pub(crate) fn have(&self, files_only: &Tree) -> bool {
        self.0.values().any(|known| files(known) == *files_only)
    }

    fn of(&self, configuration: Option<&str>) -> &Tree {
        &self.0[&configuration.map(str::to_owned)]
    }

    /// Finishes what an agent left on a copy of the node, and undoes it on the node: the files are those of one configuration, nothing else
    /// is left, and the originals can still be restored.
    pub(crate) fn check_both_ways(&self, stage: Stage, what: &str) {
        for (stage, finish) in [(stage.copy(), true), (stage, false)] {
            let journal = stage.path(STATE).join("journal.json").exists().then(|| stage.journal());
            let switch =
                journal.as_ref().map(|journal| &journal["switch"]).filter(|switch| !switch.is_null());
            let mut transactions = stage.open().unwrap_or_else(|error| panic!("{what}: {error}"));
            agent::recover(&mut transactions, finish).unwrap_or_else(|error| panic!("{what}: {error}"));
            let what = format!("{what}, finish: {finish}, was {switch:?}");
            if let (Some(journal), Some(switch)) = (&journal, switch) {
                let to = if finish && !["undoing", "undone"].contains(&switch["phase"].as_str().unwrap()) {
                    switch
                } else {
                    journal
                };
                assert_eq!(transactions.configuration(), to["configuration"].as_str(), "{what}");
            }
            assert_eq!(&stage.tree(), self.of(transactions.configuration()), "{what}");
            assert!(matches!(transactions.recover(), Recovery::Nothing(_)), "{what}");
            assert_eq!(left_in_state(&stage), [""; 0], "{what}");
            agent::restore(transactions).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(&stage.tree(), self.of(None), "{what}");
            assert!(!stage.path(STATE).exists(), "{what}");
        }
    }
}

/// What is in the state folder and should not be there while nothing is going on.
fn left_in_state(stage: &Stage) -> Vec<String> {
    let journal = stage.journal();
    let originals: Vec<_> =
        journal["managed"].as_array().unwrap().iter().map(|file| &file["original"]).collect();
    let names = |folder: &str| {
        let entries = fs::read_dir(stage.path(STATE).join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let mut left = names("contents");
    left.extend(
        names("")
            .into_iter()
            .filter(|name| !["journal.json", "original", "contents"].contains(&name.as_str())),
    );
    let known = |name: &String| originals.iter().any(|original| original["file"]["digest"] == name.as_str());
    left.extend(names("original").into_iter().filter(|name| !known(name)));
    left
}
