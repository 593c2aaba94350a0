//! Switches a set of files on a node from one state to another. A kill, a full disk or a read-only file system ends in the old
//! state or in the new one, at the latest when the next agent starts.
//!
//! What is about to be done is on disk before it is done, with every content that is needed to finish or to undo it. The caller
//! reloads services and checks them between applying and committing. After going back it reloads them too, and then settles: until
//! it does, the journal says that services may still run with files that are gone.
//!
//! ```text
//!         switch, restore_originals          commit
//!   Idle ───────────────────────────► Applied ─────► Idle, new files
//!          killed │          ▲           │ roll_back
//!                 ▼  finish  │           │
//!            HalfApplied ────┘           ├──────────────┐
//!                 │ undo          killed │              │
//!                 │                      ▼     undo     ▼     settle
//!                 │                 HalfUndone ─────► Undone ───────► Idle, old files
//!                 └─────────────────────────────────────▲
//! ```
//!
//! ```no_run
//! # use std::{path::Path, time::Duration};
//! # use pullwright_agent::transaction::*;
//! # fn works() -> bool { true }
//! # fn reload<'a>(_: impl Iterator<Item = &'a NodePath>) {}
//! # fn agent(wanted: &[WantedFile]) -> Result<(), Box<dyn std::error::Error>> {
//! let root = HostRoot::open(Path::new("/host"))?;
//! let mut transactions = Transactions::open(root, Duration::from_secs(60))?;
//! match transactions.recover() {
//!     Recovery::Nothing(_) => {}
//!     Recovery::HalfApplied(half) => settle(half.undo()?)?,
//!     Recovery::Applied(applied) => settle(applied.roll_back()?)?,
//!     Recovery::HalfUndone(half) => settle(half.undo()?)?,
//!     Recovery::Undone(undone) => settle(undone)?,
//! }
//! if let Recovery::Nothing(idle) = transactions.recover() {
//!     if let Switched::Applied(applied) = idle.switch("crio-0123456789", wanted)? {
//!         reload(applied.changed());
//!         if works() { applied.commit()? } else { settle(applied.roll_back()?)? }
//!     }
//! }
//!
//! fn settle(undone: Undone<'_>) -> Result<(), Error> {
//!     reload(undone.changed());
//!     undone.settle()
//! }
//! # Ok(())
//! # }
//! ```

mod begin;
mod error;
mod file;
mod journal;
mod path;
mod plan;
mod restore;
mod root;
mod state;
mod switch;
mod write;

use std::time::Duration;

pub use error::{Error, FileKind};
pub(crate) use file::Digest;
pub use path::{InvalidFile, NodePath, STATE, WantedFile};
pub use restore::{Kept, Restored};
pub use root::HostRoot;

use journal::{Journal, Phase, Switch};
use state::StateFolder;

/// The files of a node, in the hands of this agent alone for as long as this lives.
#[derive(Debug)]
pub struct Transactions {
    root: HostRoot,
    state: StateFolder,
    /// Always what is on disk.
    journal: Journal,
}

impl Transactions {
    /// Takes over the files of the node below `root`. Waits for another agent for at most `wait`.
    ///
    /// # Errors
    /// If another agent holds on to them, if its journal cannot be read or is of another version, or if the operating system
    /// refuses. No file of the node is changed.
    pub fn open(root: HostRoot, wait: Duration) -> Result<Self, Error> {
        let (state, journal) = StateFolder::open(&root, wait)?;
        let mut transactions = Self { root, state, journal };
        if transactions.journal.switch.is_none() {
            // What a killed run left behind is in nobody's way, so it can wait for the next start.
            let _ = transactions.tidy();
        }
        Ok(transactions)
    }

    /// The configuration that was committed last. It stays so until another is committed.
    #[must_use]
    pub fn configuration(&self) -> Option<&str> {
        self.journal.configuration.as_deref()
    }

    /// The paths of its files, in its order.
    pub fn files(&self) -> impl Iterator<Item = &NodePath> {
        self.journal.managed.iter().map(|file| &file.path)
    }

    /// What a killed or failed run left to do. Ask this first, and after every error.
    pub fn recover(&mut self) -> Recovery<'_> {
        match self.journal.switch.as_ref().map(|switch| switch.phase) {
            None => Recovery::Nothing(Idle(self)),
            Some(Phase::Intent) => Recovery::HalfApplied(HalfApplied(self)),
            Some(Phase::Applied) => Recovery::Applied(Applied(self)),
            Some(Phase::Undoing) => Recovery::HalfUndone(HalfUndone(self)),
            Some(Phase::Undone) => Recovery::Undone(Undone(self)),
        }
    }

    /// Replaces the journal, on disk and here.
    fn record(&mut self, journal: Journal) -> Result<(), Error> {
        self.state.write_journal(&journal)?;
        self.journal = journal;
        self.state.settle()
    }

    fn record_phase(&mut self, phase: Phase) -> Result<(), Error> {
        let switch = self.journal.switch.clone().map(|switch| Switch { phase, ..switch });
        self.record(Journal { switch, ..self.journal.clone() })
    }

    fn target(&self) -> Option<&str> {
        self.journal.switch.as_ref()?.configuration.as_deref()
    }

    fn changed(&self) -> impl Iterator<Item = &NodePath> {
        self.journal.switch.iter().flat_map(|switch| &switch.changes).map(|change| &change.path)
    }
}

/// What is left to do.
#[derive(Debug)]
pub enum Recovery<'a> {
    /// Nothing: the files are those of the last configuration that was committed.
    Nothing(Idle<'a>),
    /// A switch ended in the middle: each file is old or new.
    HalfApplied(HalfApplied<'a>),
    /// Every file is new, and nobody said whether that works.
    Applied(Applied<'a>),
    /// Going back ended in the middle: each file is old or new.
    HalfUndone(HalfUndone<'a>),
    /// Every file is back, and nobody said that services have followed.
    Undone(Undone<'a>),
}

/// Nothing is going on.
#[derive(Debug)]
pub struct Idle<'a>(&'a mut Transactions);

/// Some files may be switched and others not.
#[derive(Debug)]
pub struct HalfApplied<'a>(&'a mut Transactions);

/// The files are switched. Check whether everything works with them, then commit or roll back.
#[derive(Debug)]
pub struct Applied<'a>(&'a mut Transactions);

/// Some files may be back and others not.
#[derive(Debug)]
pub struct HalfUndone<'a>(&'a mut Transactions);

/// The files are back. Let services follow, then settle.
#[derive(Debug)]
#[must_use = "until it is settled, the journal says that services may run with files that are gone"]
pub struct Undone<'a>(&'a mut Transactions);

/// What a switch led to.
#[derive(Debug)]
pub enum Switched<'a> {
    /// Every file was as wanted and none was touched. The configuration is committed.
    Unchanged,
    /// Files were written.
    Applied(Applied<'a>),
}

impl<'a> Idle<'a> {
    /// Writes the files of a configuration, in this order. After that, files that only the last configuration had become what they
    /// were before it, in the reverse order.
    ///
    /// # Errors
    /// If files were changed by others, are not files, or cannot be written. Every file is as it was before, or the error is
    /// [`Error::NotUndone`]. If a file was switched in between, [`Transactions::recover`] has an [`Undone`].
    pub fn switch(self, configuration: &str, wanted: &[WantedFile]) -> Result<Switched<'a>, Error> {
        let begun = self.0.begin(configuration, wanted)?;
        self.carry_out(begun)
    }

    /// Carries out what has just been written down, if that is anything.
    fn carry_out(self, begun: bool) -> Result<Switched<'a>, Error> {
        if !begun {
            return Ok(Switched::Unchanged);
        }
        self.0.apply_or_withdraw()?;
        Ok(Switched::Applied(Applied(self.0)))
    }
}

impl<'a> HalfApplied<'a> {
    /// The configuration that it leads to; none if the originals are restored.
    #[must_use]
    pub fn configuration(&self) -> Option<&str> {
        self.0.target()
    }

    /// The paths of the files that may be switched already, in the order of the switch.
    pub fn changed(&self) -> impl Iterator<Item = &NodePath> {
        self.0.changed()
    }

    /// Switches the other files too.
    ///
    /// # Errors
    /// As [`Idle::switch`].
    pub fn finish(self) -> Result<Applied<'a>, Error> {
        self.0.apply_or_undo()?;
        Ok(Applied(self.0))
    }

    /// Brings every file back to what it was before the switch. Services may have read the new ones, if only because the node
    /// started in the meantime.
    ///
    /// # Errors
    /// If a file cannot be written. Try again: nothing is lost.
    pub fn undo(self) -> Result<Undone<'a>, Error> {
        self.0.undo()?;
        Ok(Undone(self.0))
    }
}

impl<'a> Applied<'a> {
    /// The configuration that it leads to; none if the originals are restored.
    #[must_use]
    pub fn configuration(&self) -> Option<&str> {
        self.0.target()
    }

    /// The paths of the files that were switched, in that order: what to reload.
    pub fn changed(&self) -> impl Iterator<Item = &NodePath> {
        self.0.changed()
    }

    /// The new files stay.
    ///
    /// # Errors
    /// If the journal cannot be written. Try again: nothing is lost.
    pub fn commit(self) -> Result<(), Error> {
        self.0.commit()
    }

    /// Brings every file back to what it was before the switch.
    ///
    /// # Errors
    /// If a file cannot be written. Try again: nothing is lost.
    pub fn roll_back(self) -> Result<Undone<'a>, Error> {
        self.0.undo()?;
        Ok(Undone(self.0))
    }
}

impl<'a> HalfUndone<'a> {
    /// The configuration that did not stay; none if the originals were restored.
    #[must_use]
    pub fn configuration(&self) -> Option<&str> {
        self.0.target()
    }

    /// The paths of the files that go back, in the order of the switch: what to reload, since services may have read them.
    pub fn changed(&self) -> impl Iterator<Item = &NodePath> {
        self.0.changed()
    }

    /// Brings the other files back too.
    ///
    /// # Errors
    /// If a file cannot be written. Try again: nothing is lost.
    pub fn undo(self) -> Result<Undone<'a>, Error> {
        self.0.undo()?;
        Ok(Undone(self.0))
    }
}

impl Undone<'_> {
    /// The configuration that did not stay; none if the originals were restored.
    #[must_use]
    pub fn configuration(&self) -> Option<&str> {
        self.0.target()
    }

    /// The paths of the files that are back, in the order of the switch: what to reload.
    pub fn changed(&self) -> impl Iterator<Item = &NodePath> {
        self.0.changed()
    }

    /// Those among them that others changed in the meantime. They are left as they are.
    #[must_use]
    pub fn kept(&self) -> &[NodePath] {
        self.0.journal.switch.as_ref().map_or(&[], |switch| &switch.kept)
    }

    /// Services have followed: the switch is over.
    ///
    /// # Errors
    /// If the journal cannot be written. Try again: nothing is lost.
    pub fn settle(self) -> Result<(), Error> {
        self.0.forget()
    }
}
