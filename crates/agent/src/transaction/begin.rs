//! Begins a switch: looks at the files, decides what changes, and keeps every content that is needed to finish or to undo it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rustix::process::{getegid, geteuid};
use rustix::rand::{GetRandomFlags, getrandom};

use super::Transactions;
use super::error::Error;
use super::file::{Digest, FileFacts, FileState, hex};
use super::journal::{Journal, Phase, Switch};
use super::path::{NodePath, WantedFile};
use super::plan::{Observed, Plan, plan};
use super::state::Contents;

impl Transactions {
    /// Begins to switch to a configuration; whether any file changes.
    pub(super) fn begin(&mut self, configuration: &str, wanted: &[WantedFile]) -> Result<bool, Error> {
        let paths: Vec<_> = wanted.iter().map(WantedFile::path).collect();
        self.check_apart(&paths)?;
        let mut observed = Observed::new();
        for path in paths.into_iter().chain(self.files()) {
            if !observed.contains_key(path) {
                observed.insert(path.clone(), self.root.observe(path)?);
            }
        }
        let files: Vec<_> = wanted.iter().map(|file| (file.path().clone(), facts(file))).collect();
        let plan =
            plan(&self.journal.managed, &files, &observed).map_err(|paths| Error::ForeignEdit { paths })?;
        let contents = wanted.iter().map(|file| (file.path(), file.content())).collect();
        self.intend(Some(configuration.to_owned()), plan, &contents)
    }

    /// Writes down what a plan does; whether any file changes. Until then, nothing has happened.
    pub(super) fn intend(
        &mut self,
        configuration: Option<String>,
        plan: Plan,
        contents: &BTreeMap<&NodePath, &[u8]>,
    ) -> Result<bool, Error> {
        let changes = !plan.changes.is_empty();
        let intended = self.keep(&plan, contents).and_then(|()| self.intention(configuration, plan));
        let recorded = match intended {
            Ok(journal) if journal == self.journal => return Ok(false),
            Ok(journal) => self.record(journal),
            Err(error) => Err(error),
        };
        let Err(cause) = recorded else {
            if !changes {
                // What the last configuration left is in nobody's way.
                let _ = self.tidy();
            }
            return Ok(changes);
        };
        if self.journal.switch.is_some() {
            // The journal has its new content, but maybe not for good.
            return Err(self.withdraw_after(cause));
        }
        // Contents that the journal does not name are pruned now, or by the next start.
        let _ = self.state.prune(&self.journal);
        Err(cause)
    }

    /// The journal with a plan in it, or with what it leads to if there is nothing to do.
    fn intention(&self, configuration: Option<String>, plan: Plan) -> Result<Journal, Error> {
        let Plan { changes, managed } = plan;
        if changes.is_empty() {
            return Ok(Journal { configuration, managed, ..self.journal.clone() });
        }
        let mut folders = Vec::new();
        let mut listed: BTreeSet<_> = BTreeSet::new();
        for change in changes.iter().filter(|change| change.after != FileState::Absent) {
            let missing = self.root.missing_folders(&change.path)?;
            folders.extend(missing.into_iter().filter(|folder| listed.insert(folder.clone())));
        }
        let mut made = self.journal.folders.clone();
        made.retain(|folder| !listed.contains(folder));
        made.extend(folders.iter().cloned());
        let switch = Switch {
            id: random()?,
            phase: Phase::Intent,
            configuration,
            changes,
            folders,
            managed,
            kept: vec![],
        };
        Ok(Journal { folders: made, switch: Some(switch), ..self.journal.clone() })
    }

    /// Keeps the contents of a plan: originals first, so that a content that is both is kept as one.
    fn keep(&self, plan: &Plan, contents: &BTreeMap<&NodePath, &[u8]>) -> Result<(), Error> {
        let known: BTreeSet<_> = self.files().collect();
        for file in plan.managed.iter().filter(|file| !known.contains(&file.path)) {
            if let Some(digest) = file.original.digest() {
                self.keep_file(self.state.originals(), &file.path, digest)?;
            }
        }
        for change in &plan.changes {
            if let Some(digest) = change.before.digest().filter(|digest| !self.state.has(digest)) {
                self.keep_file(self.state.contents(), &change.path, digest)?;
            }
            let new = change.after.digest().filter(|digest| !self.state.has(digest));
            if let (Some(digest), Some(mut content)) = (new, contents.get(&change.path).copied()) {
                self.state.contents().keep(digest, &mut content)?;
            }
        }
        self.state.originals().settle()?;
        self.state.contents().settle()
    }

    fn keep_file(&self, into: &Contents, path: &NodePath, digest: &Digest) -> Result<(), Error> {
        let changed = || Error::ForeignEdit { paths: vec![path.clone()] };
        let (mut file, _) = self.root.open_file(path)?.ok_or_else(changed)?;
        if into.keep(digest, &mut file)? { Ok(()) } else { Err(changed()) }
    }

    /// Two paths may be one file, by links between folders.
    fn check_apart(&self, wanted: &[&NodePath]) -> Result<(), Error> {
        let (mut paths, mut files) = (BTreeSet::new(), HashMap::new());
        let same = |path: &NodePath, other: &NodePath| {
            Err(Error::SameFile { path: path.clone(), other: other.clone() })
        };
        for path in wanted {
            if !paths.insert(*path) {
                return same(path, path);
            }
        }
        paths.extend(self.files());
        for path in paths {
            let Some(file) = self.root.identity(path)? else { continue };
            if let Some(other) = files.insert(file, path) {
                return same(other, path);
            }
        }
        Ok(())
    }
}

/// A file as we write it: ours.
fn facts(file: &WantedFile) -> FileFacts {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let digest = Digest::of(file.content());
    FileFacts { digest, mode: file.mode(), uid, gid, attributes: BTreeMap::new() }
}

/// A name that nobody else gave a file.
fn random() -> Result<String, Error> {
    let mut bytes = [0; 8];
    getrandom(&mut bytes, GetRandomFlags::empty()).map_err(Error::state("make an ID for", "journal.json"))?;
    Ok(hex(&bytes))
}
