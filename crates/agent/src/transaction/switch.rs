//! Carries out a switch that is written down, or undoes it: each step can be done again.

use std::collections::BTreeSet;

use super::error::Error;
use super::file::FileState;
use super::journal::{Journal, Phase, Switch};
use super::path::NodePath;
use super::plan::{Change, is_foreign};
use super::write;
use super::{Transactions, Undone};

impl Transactions {
    /// Brings every file to its new state, or back to the old one.
    pub(super) fn apply_or_undo(&mut self) -> Result<(), Error> {
        self.apply().map_err(|cause| self.undo_after(cause))
    }

    /// Undoes the switch because of an error, which becomes part of the error.
    pub(super) fn undo_after(&mut self, cause: Error) -> Error {
        let cause = Box::new(cause);
        match self.undo() {
            Ok(Undone { .. }) => Error::Undone { cause },
            Err(undoing) => Error::NotUndone { cause, undoing: Box::new(undoing) },
        }
    }

    /// First every file is written beside its place: if there is no space, or if a folder is read only, that shows before any
    /// file is switched.
    fn apply(&mut self) -> Result<(), Error> {
        let Some(switch) = self.journal.switch.clone() else { return Ok(()) };
        self.root.make_folders(&switch.folders)?;
        let mut left = Vec::new();
        for (change, temporary) in switch.steps() {
            if self.is_due(change)? {
                self.stage(change, &temporary, &change.after)?;
                left.push((change, temporary));
            }
        }
        for (change, temporary) in left {
            // Writing all the others took a while.
            if self.is_due(change)? {
                self.put(change, &temporary, &change.after)?;
            }
        }
        self.remove_temporaries(&switch)?;
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

    /// Brings every file back to its old state, the last one first. As in `apply`, all are written before one is switched.
    pub(super) fn undo(&mut self) -> Result<Undone, Error> {
        let Some(switch) = self.journal.switch.clone() else { return Ok(Undone { kept: Vec::new() }) };
        // They may take up the last of the space. If they cannot be removed, the files still come first.
        let _ = self.remove_temporaries(&switch);
        match switch.phase {
            Phase::Applied => self.record_phase(Phase::Undoing)?,
            // `Intent` is true meanwhile, too: each file is old or new. Going back does not depend on space for the journal.
            Phase::Intent => drop(self.record_phase(Phase::Undoing)),
            Phase::Undoing => {}
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
        self.record(Journal { switch: None, ..self.journal.clone() })?;
        let _ = self.tidy();
        Ok(Undone { kept })
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

impl Switch {
    /// The changes in their order, each with the name of its temporary file. A later agent knows the same names.
    fn steps(&self) -> impl DoubleEndedIterator<Item = (&Change, String)> {
        let temporary = |number| format!(".pullwright-{}-{number}", self.id);
        self.changes.iter().enumerate().map(move |(number, change)| (change, temporary(number)))
    }
}
