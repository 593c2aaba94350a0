//! The agent of these tests, and its two configurations.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use pullwright_agent::transaction::{Error, HostRoot, Recovery, Switched, Transactions, Undone, WantedFile};
use pullwright_agent::update::UpdateError;

use crate::updating;

/// The first configuration: new files, some in new folders, a program, and files in place of others.
pub(crate) fn a() -> Vec<WantedFile> {
    let program = WantedFile::new("/usr/libexec/plugin", 0o755, vec![0xa; 66_000]).unwrap();
    vec![
        program,
        text("/etc/gone/only-a.conf", 0o644, "only in a"),
        text("/etc/crio/keep.conf", 0o644, "keep in a"),
        text("/etc/mode.conf", 0o644, "the same content"),
        text("/etc/registries.conf", 0o644, "registries in a"),
    ]
}

/// The second: another program, other content, another mode, a file more, and two files less.
pub(crate) fn b() -> Vec<WantedFile> {
    let program = WantedFile::new("/usr/libexec/plugin", 0o755, vec![0xb; 67_000]).unwrap();
    vec![
        program,
        text("/etc/new/deep/b.conf", 0o600, "only in b"),
        text("/etc/mode.conf", 0o640, "the same content"),
        text("/etc/registries.conf", 0o644, "registries in b"),
    ]
}

fn text(path: &str, mode: u32, content: &str) -> WantedFile {
    WantedFile::new(path, mode, content).unwrap()
}

/// Does one thing below `root`.
pub(crate) fn run(deed: &str, root: &Path) -> ExitCode {
    match done(deed, root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If no write succeeds, this one does not either.
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn done(deed: &str, root: &Path) -> Result<(), UpdateError> {
    match deed.strip_prefix("update-") {
        Some(name) => updating::run(name, root),
        None => Ok(switched(deed, root)?),
    }
}

fn switched(deed: &str, root: &Path) -> Result<(), Error> {
    let mut transactions = Transactions::open(HostRoot::open(root)?, Duration::ZERO)?;
    if deed == "restore" {
        return restore(transactions);
    }
    if let "finish" | "undo" = deed {
        return recover(&mut transactions, deed == "finish");
    }
    match (deed, transactions.recover()) {
        ("a", Recovery::Nothing(idle)) => commit(idle.switch("a", &a())?),
        ("b", Recovery::Nothing(idle)) => commit(idle.switch("b", &b())?),
        ("apply-b", Recovery::Nothing(idle)) => idle.switch("b", &b()).map(drop),
        ("roll-back", Recovery::Applied(applied)) => settle(applied.roll_back()?),
        (_, found) => panic!("cannot {deed}: {found:?}"),
    }
}

fn commit(switched: Switched<'_>) -> Result<(), Error> {
    match switched {
        Switched::Applied(applied) => applied.commit(),
        Switched::Unchanged => panic!("nothing changed"),
    }
}

/// Restores the originals of a node on which nothing is left to do, and removes every trace of the agent.
pub(crate) fn restore(mut transactions: Transactions) -> Result<(), Error> {
    let Recovery::Nothing(idle) = transactions.recover() else { panic!("something is left") };
    let restored = idle.restore_originals()?;
    assert_eq!(restored.kept, []);
    if let Switched::Applied(applied) = restored.switched {
        applied.commit()?;
    }
    transactions.remove_state().map(|gone| assert!(gone))
}

/// Services have followed, and no file was changed by others.
pub(crate) fn settle(undone: Undone<'_>) -> Result<(), Error> {
    assert_eq!(undone.kept(), []);
    undone.settle()
}

/// Finishes or undoes what an agent left. What had begun to go back goes back.
pub(crate) fn recover(transactions: &mut Transactions, finish: bool) -> Result<(), Error> {
    match transactions.recover() {
        Recovery::Nothing(_) => Ok(()),
        Recovery::HalfApplied(half) if finish => half.finish()?.commit(),
        Recovery::HalfApplied(half) => settle(half.undo()?),
        Recovery::Applied(applied) if finish => applied.commit(),
        Recovery::Applied(applied) => settle(applied.roll_back()?),
        Recovery::HalfUndone(half) => settle(half.undo()?),
        Recovery::Undone(undone) => settle(undone),
    }
}
