//! What changes in the files that CRI-O reads.

use std::path::{Path, PathBuf};

use pullwright_engine::registries::{Change, Notice};

use super::{FileChange, Noted, What};
use crate::diagnostic::Message;
use crate::inputs::crio_files::{CrioFiles, WithRendered};
use crate::render::{NodeFile, SEARCH_DROP_IN};

/// What is different when these files are put on the node; files without a difference are left out.
pub(super) fn changes(node: &CrioFiles, files: &[NodeFile]) -> Result<Vec<FileChange>, Message> {
    let after = node.with(files)?;
    let of_main = node.main.1.changes_to(&after.main);
    let of_search = node.search.clone().unwrap_or_default();
    let of_search = of_search.changes_to(&after.search.clone().unwrap_or_default());
    let noted =
        |change: Change| What::Entry(Noted { overridden_by: overridden_by(node, &change, &after), change });
    // The Machine Config Operator has no rule for this file, so whatever changes in it takes a reboot.
    let reboot = |change: Change| Change { notice: Notice::Reboot, ..change };
    let changed = [
        (node.main.0.clone(), of_main.into_iter().map(noted).collect::<Vec<_>>()),
        (PathBuf::from(SEARCH_DROP_IN), of_search.into_iter().map(reboot).map(noted).collect()),
    ];
    let changed = changed.into_iter().filter(|(_, changes)| !changes.is_empty());
    Ok(changed.map(|(path, changes)| FileChange { path, foreign: false, changes }).collect())
}

/// The drop-in whose entry counts instead.
fn overridden_by(node: &CrioFiles, change: &Change, after: &WithRendered) -> Option<PathBuf> {
    let prefix = change.entry.as_ref()?;
    let entry = after.registries.find(prefix).filter(|registry| registry.prefix == *prefix)?;
    let origin: &Path = after.registries.origin(entry)?;
    node.others.iter().any(|(path, _)| path == origin).then(|| origin.to_owned())
}
