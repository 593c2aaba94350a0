//! Carries out a switch that is written down, or undoes it: each step can be done again.

use std::collections::BTreeSet;

use super::Transactions;
use super::error::Error;
use super::file::FileState;
use super::journal::{Journal, Phase, Switch};
use super::path::NodePath;
use super::plan::{Change, is_foreign};
use super::write;

impl Transactions {
    /// Brings every file to its new state, or back to the old one, when a switch has just begun: until the first file is put,
    /// there is nothing that services could have read.
    pub(super) fn apply_or_withdraw(&mut self) -> Result<(), Error> {
        match self.stage_all() {
            Ok(staged) => self.put_all(&staged).map_err(|cause| self.undo_after(cause)),
            Err(cause) => Err(self.withdraw_after(cause)),
        }
    }

    /// The same when an earlier agent began it.
    pub(super) fn apply_or_undo(&mut self) -> Result<(), Error> {
        let applied = self.stage_all().and_then(|staged| self.put_all(&staged));
        applied.map_err(|cause| self.undo_after(cause))
    }

    /// Undoes the switch because of an error, which becomes part of the error.
    fn undo_after(&mut self, cause: Error) -> Error {
        let undone = self.undo();
        undone_after(cause, undone)
    }

    /// The same if no file was put. So there is nothing to settle.
    pub(super) fn withdraw_after(&mut self, cause: Error) -> Error {
        let withdrawn = self.undo().and_then(|()| self.forget());
        undone_after(cause, withdrawn)
    }

    /// Writes every file beside its place: if there is no space, or if a folder is read only, that shows before any file is
    /// switched.
    fn stage_all(&mut self) -> Result<Vec<(Change, String)>, Error> {
        let Some(switch) = &self.journal.switch else { return Ok(Vec::new()) };
        self.root.make_folders(&switch.folders)?;
        let mut staged = Vec::new();
        for (change, temporary) in switch.steps() {
            if self.is_due(change)? {
                self.stage(change, &temporary, &change.after)?;
                staged.push((change.clone(), temporary));
            }
        }
        Ok(staged)
    }

    fn put_all(&mut self, staged: &[(Change, String)]) -> Result<(), Error> {
        for (change, temporary) in staged {
            // Writing all the others took a while.
            if self.is_due(change)? {
                self.put(change, temporary, &change.after)?;
            }
        }
        if let Some(switch) = &self.journal.switch {
            self.remove_temporaries(switch)?;
        }
        self.record_phase(Phase::Applied)
    }

    /// Whether a file is not in its new state yet.
    fn is_due(&self, change: &Change) -> Result<bool, Error> {
        let there = self.root.observe(&change.path)?;
        if is_foreign(&there, [&change.before, &change.after]) {
            return Err(Error::ForeignEdit { paths: vec![change.path.clone()] });
        }
        Ok(!there.is_like(&change.after))
    }

    /// Brings every file back to its old state, the last one first. Here too, all are written before one is switched.
    pub(super) fn undo(&mut self) -> Result<(), Error> {
        let Some(switch) = self.journal.switch.clone() else { return Ok(()) };
        // They may take up the last of the space. If they cannot be removed, the files still come first.
        let _ = self.remove_temporaries(&switch);
        match switch.phase {
            Phase::Applied => self.record_phase(Phase::Undoing)?,
            // `Intent` is true meanwhile, too: each file is old or new. Going back does not depend on space for the journal.
            Phase::Intent => drop(self.record_phase(Phase::Undoing)),
            Phase::Undoing => {}
            Phase::Undone => return Ok(()),
        }
        let (mut left, mut kept) = (Vec::new(), Vec::new());
        for (change, temporary) in switch.steps().rev() {
            match self.root.observe(&change.path) {
                Ok(there) if there.is_like(&change.before) => {}
                Ok(there) if is_foreign(&there, [&change.before, &change.after]) => {
                    kept.push(change.path.clone());
                }
                Ok(_) => {
                    self.stage(change, &temporary, &change.before)?;
                    left.push((change, temporary));
                }
                Err(Error::NotAFile { .. } | Error::MountPoint { .. }) => kept.push(change.path.clone()),
                Err(error) => return Err(error),
            }
        }
        for (change, temporary) in left {
            self.put(change, &temporary, &change.before)?;
        }
        self.remove_temporaries(&switch)?;
        let undone = Switch { phase: Phase::Undone, kept, ..switch };
        self.record(Journal { switch: Some(undone), ..self.journal.clone() })
    }

    /// Ends a switch that is undone.
    pub(super) fn forget(&mut self) -> Result<(), Error> {
        self.record(Journal { switch: None, ..self.journal.clone() })?;
        // What is left is in nobody's way, and the next start tries again.
        let _ = self.tidy();
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<(), Error> {
        let Some(switch) = self.journal.switch.clone() else { return Ok(()) };
        let Switch { configuration, managed, .. } = switch;
        self.record(Journal { configuration, managed, switch: None, ..self.journal.clone() })?;
        // What is left is in nobody's way, and the next start tries again.
        let _ = self.tidy();
        Ok(())
    }

    /// Removes folders that we made and no longer use, and contents that nobody needs.
    pub(super) fn tidy(&mut self) -> Result<(), Error> {
        let used: BTreeSet<_> = self.files().flat_map(NodePath::folders).collect();
        let (mut gone, mut failed) = (BTreeSet::new(), Ok(()));
        for folder in self.journal.folders.iter().rev().filter(|folder| !used.contains(folder)) {
            match self.root.remove_folder(folder) {
                Ok(true) => drop(gone.insert(folder.clone())),
                Ok(false) => {}
                // It may be the only one.
                Err(error) => failed = Err(error),
            }
        }
        let folders: Vec<_> =
            self.journal.folders.iter().filter(|folder| !gone.contains(folder)).cloned().collect();
        if folders != self.journal.folders {
            self.root.sync_above(&gone)?;
            self.record(Journal { folders, ..self.journal.clone() })?;
        }
        self.state.prune(&self.journal)?;
        failed
    }

    fn stage(&self, change: &Change, temporary: &str, to: &FileState) -> Result<(), Error> {
        let FileState::File(facts) = to else { return Ok(()) };
        // Folders that were there when the switch began may be gone by now.
        self.root.make_folders(&self.root.missing_folders(&change.path)?)?;
        let content = self.state.content(&facts.digest)?;
        write::stage(&self.root, &change.path, temporary, facts, content)
    }

    fn put(&self, change: &Change, temporary: &str, to: &FileState) -> Result<(), Error> {
        match to {
            FileState::File(_) => write::put(&self.root, &change.path, temporary),
            FileState::Absent => write::remove(&self.root, &change.path),
        }
    }

    fn remove_temporaries(&self, switch: &Switch) -> Result<(), Error> {
        for (change, temporary) in switch.steps() {
            write::remove_temporary(&self.root, &change.path, &temporary)?;
        }
        Ok(())
    }
}

fn undone_after(cause: Error, undone: Result<(), Error>) -> Error {
    let cause = Box::new(cause);
    match undone {
        Ok(()) => Error::Undone { cause },
        Err(undoing) => Error::NotUndone { cause, undoing: Box::new(undoing) },
    }
}

impl Switch {
    /// The changes in their order, each with the name of its temporary file. A later agent knows the same names.
    fn steps(&self) -> impl DoubleEndedIterator<Item = (&Change, String)> {
        let temporary = |number| format!(".pullwright-{}-{number}", self.id);
        self.changes.iter().enumerate().map(move |(number, change)| (change, temporary(number)))
    }
}
