//! Decides which files change: from what we wrote, what is wanted, and what is there. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::file::{FileFacts, FileState, LABEL};
use super::path::NodePath;

/// A file that we wrote, or found as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Managed {
    pub(crate) path: NodePath,
    /// What was there before we ever touched it.
    pub(crate) original: FileState,
    /// What we left there.
    pub(crate) written: FileState,
}

/// A file that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) path: NodePath,
    pub(crate) before: FileState,
    pub(crate) after: FileState,
}

/// What a switch does, and what is managed once it is committed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// In the order in which it is done.
    pub(crate) changes: Vec<Change>,
    pub(crate) managed: Vec<Managed>,
}

/// What is at each path of a plan.
pub(crate) type Observed = BTreeMap<NodePath, FileState>;

/// Writes files in the order in which they are wanted. After that, files that are no longer wanted become what they were before
/// us, in the reverse order: what refers to others comes last and goes first.
///
/// Files that somebody else changed are the error. A file that is gone is not among them: nothing of anybody's is lost when it is
/// written again.
pub(crate) fn plan(
    managed: &[Managed],
    wanted: &[(NodePath, FileFacts)],
    observed: &Observed,
) -> Result<Plan, Vec<NodePath>> {
    let known: BTreeMap<_, _> = managed.iter().map(|file| (&file.path, file)).collect();
    let kept: BTreeSet<_> = wanted.iter().map(|(path, _)| path).collect();
    let there = |path: &NodePath| observed.get(path).cloned().unwrap_or(FileState::Absent);
    let (mut changes, mut next, mut foreign) = (Vec::new(), Vec::new(), Vec::new());
    let mut change = |path: &NodePath, after: FileState| {
        let before = there(path);
        if before.is_like(&after) {
            return before;
        }
        if known.get(path).is_some_and(|file| is_foreign(&before, [&file.written, &after])) {
            foreign.push(path.clone());
        }
        changes.push(Change { path: path.clone(), before, after: after.clone() });
        after
    };
    for (path, facts) in wanted {
        let original = known.get(path).map_or_else(|| there(path), |file| file.original.clone());
        let written = change(path, labelled(facts, &there(path)));
        next.push(Managed { path: path.clone(), original, written });
    }
    for file in managed.iter().rev().filter(|file| !kept.contains(&file.path)) {
        change(&file.path, file.original.clone());
    }
    if foreign.is_empty() { Ok(Plan { changes, managed: next }) } else { Err(foreign) }
}

/// Whether somebody else wrote what is there: it is none of the states that we know of. The content decides.
pub(crate) fn is_foreign(there: &FileState, ours: [&FileState; 2]) -> bool {
    there.digest().is_some_and(|digest| ours.iter().all(|state| state.digest() != Some(digest)))
}

/// The file as wanted, with the label of the file that it replaces.
fn labelled(facts: &FileFacts, replaced: &FileState) -> FileState {
    let mut facts = facts.clone();
    let label = replaced.facts().and_then(|replaced| replaced.attributes.get_key_value(LABEL));
    facts.attributes = label.map(|(name, value)| (name.clone(), value.clone())).into_iter().collect();
    FileState::File(facts)
}

#[cfg(test)]
mod tests {
    use super::super::file::{Attribute, Digest};
    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::try_from(text.to_owned()).unwrap()
    }

    fn facts(content: &str) -> FileFacts {
        let digest = Digest::of(content.as_bytes());
        FileFacts { digest, mode: 0o644, uid: 0, gid: 0, attributes: BTreeMap::new() }
    }

    fn file(content: &str) -> FileState {
        FileState::File(facts(content))
    }

    fn managed(at: &str, original: FileState, written: &str) -> Managed {
        Managed { path: path(at), original, written: file(written) }
    }

    /// What a plan does to each path, as `path: before > after`.
    fn planned(
        managed: &[Managed],
        wanted: &[(&str, &str)],
        there: &[(&str, &str)],
    ) -> Result<Vec<String>, Vec<NodePath>> {
        let contents = ["one", "two", "edited", "original"];
        let name = |state: &FileState| match state.digest() {
            None => "-",
            Some(digest) => contents.iter().find(|text| Digest::of(text.as_bytes()) == *digest).unwrap(),
        };
        let wanted: Vec<_> = wanted.iter().map(|(at, content)| (path(at), facts(content))).collect();
        let observed = there.iter().map(|(at, content)| (path(at), file(content))).collect();
        let plan = plan(managed, &wanted, &observed)?;
        let shown =
            |change: &Change| format!("{}: {} > {}", change.path, name(&change.before), name(&change.after));
        Ok(plan.changes.iter().map(shown).collect())
    }

    #[test]
    fn wanted_files_are_written_in_their_order() {
        let wanted = [("/b", "one"), ("/a", "two")];
        let there = [("/a", "original")];
        assert_eq!(planned(&[], &wanted, &there).unwrap(), ["/b: - > one", "/a: original > two"]);
    }

    #[test]
    fn what_is_as_wanted_is_not_touched() {
        let ours = [managed("/a", FileState::Absent, "one")];
        assert_eq!(planned(&ours, &[("/a", "one")], &[("/a", "one")]).unwrap(), [""; 0]);
        assert_eq!(planned(&[], &[("/a", "one")], &[("/a", "one")]).unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_no_longer_wanted_becomes_what_it_was_last_first() {
        let ours = [managed("/a", file("original"), "one"), managed("/b", FileState::Absent, "one")];
        let there = [("/a", "one"), ("/b", "one")];
        assert_eq!(planned(&ours, &[], &there).unwrap(), ["/b: one > -", "/a: one > original"]);
        let moved = [("/c", "one")];
        let there = [("/a", "one"), ("/b", "one")];
        let expected = ["/c: - > one", "/b: one > -", "/a: one > original"];
        assert_eq!(planned(&ours, &moved, &there).unwrap(), expected);
    }

    #[test]
    fn edits_by_others_are_all_named() {
        let ours = [managed("/a", FileState::Absent, "one"), managed("/b", FileState::Absent, "one")];
        let there = [("/a", "edited"), ("/b", "edited")];
        assert_eq!(planned(&ours, &[("/a", "two")], &there), Err(vec![path("/a"), path("/b")]));
        // They did by hand what we would do.
        assert_eq!(planned(&ours[..1], &[("/a", "two")], &[("/a", "two")]), Ok(vec![]));
    }

    #[test]
    fn what_others_removed_is_written_again() {
        let ours = [managed("/a", FileState::Absent, "one")];
        assert_eq!(planned(&ours, &[("/a", "one")], &[]).unwrap(), ["/a: - > one"]);
        assert_eq!(planned(&ours, &[], &[]).unwrap(), [""; 0]);
    }

    #[test]
    fn permissions_and_owner_are_put_right() {
        let ours = [managed("/a", FileState::Absent, "one")];
        let changed = [
            FileFacts { mode: 0o600, ..facts("one") },
            FileFacts { uid: 7, ..facts("one") },
            FileFacts { gid: 7, ..facts("one") },
        ];
        for there in changed {
            let observed = [(path("/a"), FileState::File(there.clone()))].into();
            let plan = plan(&ours, &[(path("/a"), facts("one"))], &observed).unwrap();
            let [change] = &plan.changes[..] else { panic!("{plan:?}") };
            assert_eq!((&change.before, &change.after), (&FileState::File(there), &file("one")));
        }
    }

    #[test]
    fn the_original_is_what_was_there_the_first_time() {
        let there = [(path("/a"), file("original"))].into();
        let first = plan(&[], &[(path("/a"), facts("one"))], &there).unwrap().managed;
        assert_eq!(first, [managed("/a", file("original"), "one")]);
        let there = [(path("/a"), file("one"))].into();
        let second = plan(&first, &[(path("/a"), facts("two"))], &there).unwrap().managed;
        assert_eq!(second, [managed("/a", file("original"), "two")]);
    }

    #[test]
    fn a_file_keeps_its_label_and_no_other_attribute() {
        let mut there = facts("original");
        let value = || Attribute(b"etc_t".to_vec());
        there.attributes = [(LABEL.to_owned(), value()), ("user.mine".to_owned(), value())].into();
        let observed = [(path("/a"), FileState::File(there))].into();
        let plan = plan(&[], &[(path("/a"), facts("one"))], &observed).unwrap();
        let after = plan.changes[0].after.facts().unwrap();
        assert_eq!(after.attributes, [(LABEL.to_owned(), value())].into());
    }
}
