//! A node's root in a temporary folder, and what can be seen of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pullwright_agent::transaction::{Applied, Error, HostRoot, Recovery, Switched, Transactions, WantedFile};
use rustix::fs::{XattrFlags, lgetxattr, setxattr};
use tempfile::TempDir;

/// Where the agent keeps its state, seen from the root.
pub(crate) const STATE: &str = "var/lib/pullwright";

/// An attribute that everybody may set.
pub(crate) const NOTE: &str = "user.note";

/// Everything below a root except the agent's state: what each path is.
pub(crate) type Tree = BTreeMap<PathBuf, String>;

/// A node.
pub(crate) struct Stage {
    folder: TempDir,
}

impl Stage {
    /// A node with some files, which no agent has touched.
    pub(crate) fn new() -> Self {
        let stage = Self { folder: folder() };
        fs::create_dir_all(stage.path("var/lib")).unwrap();
        stage.write("etc/registries.conf", "registries before", 0o644);
        stage.write("etc/crio/keep.conf", "keep before", 0o640);
        setxattr(stage.path("etc/crio/keep.conf"), NOTE, b"mine", XattrFlags::empty()).unwrap();
        stage.write("etc/others.conf", "of others", 0o600);
        stage
    }

    /// The node again, as it is now.
    pub(crate) fn copy(&self) -> Self {
        let folder = tempfile::tempdir_in(self.folder.path().parent().unwrap()).unwrap();
        fs::remove_dir(folder.path()).unwrap();
        let copied = Command::new("cp").arg("-a").arg(self.root()).arg(folder.path()).status().unwrap();
        assert!(copied.success());
        Self { folder }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, content: &str, mode: u32) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        add(self.root(), Path::new(""), &mut tree);
        tree
    }

    pub(crate) fn journal(&self) -> serde_json::Value {
        serde_json::from_slice(&fs::read(self.path(STATE).join("journal.json")).unwrap()).unwrap()
    }

    pub(crate) fn open(&self) -> Result<Transactions, Error> {
        Transactions::open(HostRoot::open(self.root())?, Duration::ZERO)
    }

    /// Switches to a configuration and commits it.
    pub(crate) fn switch(&self, configuration: &str, wanted: &[WantedFile]) -> Result<(), Error> {
        match idle(&mut self.open()?).switch(configuration, wanted)? {
            Switched::Unchanged => Ok(()),
            Switched::Applied(applied) => applied.commit(),
        }
    }
}

/// Of a node on which nothing is left to do.
pub(crate) fn idle(transactions: &mut Transactions) -> pullwright_agent::transaction::Idle<'_> {
    match transactions.recover() {
        Recovery::Nothing(idle) => idle,
        other => panic!("something is left: {other:?}"),
    }
}

pub(crate) fn applied(switched: Switched<'_>) -> Applied<'_> {
    match switched {
        Switched::Applied(applied) => applied,
        Switched::Unchanged => panic!("nothing was switched"),
    }
}

pub(crate) fn file(path: &str, mode: u32, content: &str) -> WantedFile {
    WantedFile::new(path, mode, content).unwrap()
}

/// An empty folder where files can have attributes. In memory if possible: the tests sync a lot.
fn folder() -> TempDir {
    let takes_attributes = |folder: &TempDir| setxattr(folder.path(), NOTE, b"", XattrFlags::empty()).is_ok();
    let in_memory = tempfile::tempdir_in("/dev/shm").ok().filter(takes_attributes);
    in_memory.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// The files of a tree, without folders.
pub(crate) fn files(tree: &Tree) -> Tree {
    let is_file = |(_, what): &(&PathBuf, &String)| what.starts_with("10");
    tree.iter().filter(is_file).map(|(path, what)| (path.clone(), what.clone())).collect()
}

fn add(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let path = folder.join(entry.unwrap().file_name());
        if path == Path::new(STATE) {
            continue;
        }
        let meta = fs::symlink_metadata(root.join(&path)).unwrap();
        let mut what = format!("{:o} {}:{}", meta.mode(), meta.uid(), meta.gid());
        if meta.is_dir() {
            add(root, &path, tree);
        } else if meta.is_symlink() {
            what += &format!(" -> {}", fs::read_link(root.join(&path)).unwrap().display());
        } else if meta.is_file() {
            let content = fs::read(root.join(&path)).unwrap();
            let note = lgetxattr(root.join(&path), NOTE, vec![0; 64].as_mut_slice()).unwrap_or(0);
            what += &match content.len() {
                ..100 => format!(" note {note} {}", String::from_utf8_lossy(&content)),
                length => {
                    format!(" note {note} {length} bytes of {:?}", content.iter().collect::<BTreeSet<_>>())
                }
            };
        }
        tree.insert(path, what);
    }
}
