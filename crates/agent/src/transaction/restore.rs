//! Restores the files as they were before the first switch, and removes the agent's state.

use std::collections::{BTreeMap, BTreeSet};

use super::Transactions;
use super::error::Error;
use super::path::NodePath;
use super::plan::{Managed, Observed, Plan, plan};

/// What restoring led to.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "files that others changed are not restored"]
pub struct Restored {
    /// Files that others changed or replaced. They are left as they are. As long as there are any, the state stays too: it has their
    /// originals.
    pub kept: Vec<Kept>,
}

/// A file that was not restored.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its path.
    pub path: NodePath,
    /// Why it was left as it is.
    pub reason: String,
}

impl Transactions {
    /// Brings every file back to what it was before the first switch, with its permissions, owner and attributes; removes folders
    /// that we made if nobody else uses them; then removes the agent's state.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if something has to be finished or undone first. Otherwise as [`Idle::switch`](super::Idle::switch).
    /// Try again: nothing is lost.
    pub fn restore_originals(mut self) -> Result<Restored, Error> {
        if self.journal.switch.is_some() {
            return Err(Error::Interrupted);
        }
        let (plan, kept) = self.plan_restoring()?;
        if self.intend(None, plan, &BTreeMap::new())? {
            self.apply_or_undo()?;
            self.commit()?;
        }
        self.tidy()?;
        if kept.is_empty() {
            self.state.remove()?;
        }
        Ok(Restored { kept })
    }

    /// What restoring changes, and the files that it leaves alone.
    fn plan_restoring(&self) -> Result<(Plan, Vec<Kept>), Error> {
        let (mut observed, mut kept) = (Observed::new(), Vec::new());
        let mut keep = |path: &NodePath, why: &Error| {
            kept.push(Kept { path: path.clone(), reason: why.to_string() });
        };
        for path in self.files() {
            match self.root.observe(path) {
                Ok(there) => drop(observed.insert(path.clone(), there)),
                Err(error @ (Error::NotAFile { .. } | Error::MountPoint { .. })) => keep(path, &error),
                Err(error) => return Err(error),
            }
        }
        let (ours, mut others): (Vec<_>, Vec<_>) =
            self.journal.managed.iter().cloned().partition(|file| observed.contains_key(&file.path));
        let planned = plan(&ours, &[], &observed).or_else(|foreign| {
            for path in &foreign {
                keep(path, &Error::ForeignEdit { paths: vec![path.clone()] });
            }
            let foreign: BTreeSet<_> = foreign.into_iter().collect();
            let is_foreign = |file: &Managed| foreign.contains(&file.path);
            let (edited, ours): (Vec<_>, Vec<_>) = ours.into_iter().partition(is_foreign);
            others.extend(edited);
            plan(&ours, &[], &observed)
        });
        match planned {
            Ok(Plan { changes, .. }) => Ok((Plan { changes, managed: others }, kept)),
            Err(paths) => Err(Error::ForeignEdit { paths }),
        }
    }
}
