//! Restores the files as they were before the first switch, and then removes the agent's state.

use std::collections::{BTreeMap, BTreeSet};

use super::error::Error;
use super::path::NodePath;
use super::plan::{Managed, Observed, Plan, plan};
use super::{Idle, Switched, Transactions};

/// What restoring led to.
#[derive(Debug)]
#[must_use = "files that were restored are not committed, and files that others changed are not restored"]
pub struct Restored<'a> {
    /// Whether files were written: a switch like any other, to no configuration. Commit it, or roll it back.
    pub switched: Switched<'a>,
    /// Files that others changed or replaced. They are left as they are, and the state has their originals.
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

impl<'a> Idle<'a> {
    /// Brings every file back to what it was before the first switch, with its permissions, owner and attributes. Once that is
    /// committed, folders that we made are gone too, if nobody else uses them.
    ///
    /// # Errors
    /// As [`Idle::switch`].
    pub fn restore_originals(self) -> Result<Restored<'a>, Error> {
        let (plan, kept) = self.0.plan_restoring()?;
        let begun = self.0.intend(None, plan, &BTreeMap::new())?;
        Ok(Restored { switched: self.carry_out(begun)?, kept })
    }
}

impl Transactions {
    /// Removes the agent's state, unless it has the original of a file that is not restored; whether it is gone.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if something has to be finished or undone first, or if the operating system refuses. Try again:
    /// nothing is lost.
    pub fn remove_state(mut self) -> Result<bool, Error> {
        if self.journal.switch.is_some() {
            return Err(Error::Interrupted);
        }
        self.tidy()?;
        if !self.journal.managed.is_empty() {
            return Ok(false);
        }
        self.state.remove()?;
        Ok(true)
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
