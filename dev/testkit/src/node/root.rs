//! The folder with all files of one node, and its owner.

use std::{
    env,
    fs::{self, File, TryLockError},
    io::Write as _,
    path::{Path, PathBuf},
    process,
};

use sha2::{Digest as _, Sha256};

use crate::{Error, error::Doing, node::cgroups};

/// The file in a root folder that its owner locks. The kernel releases the lock no matter how the owner ends.
const LOCK: &str = "owner.lock";

/// A root folder that this process owns. It is removed on drop, together with the node's cgroups.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    _lock: File,
}

impl Root {
    /// Takes the folder `path`, and first cleans up after an owner that was killed.
    pub fn claim(path: &Path) -> Result<Self, Error> {
        fs::create_dir_all(path).doing("creating", path)?;
        let path = path.canonicalize().doing("finding", path)?;
        let unusable = |reason| Error::Root { root: path.display().to_string(), reason };
        if ["/etc", "/opt", "/run", "/tmp", "/usr", "/var"].iter().any(|covered| path.starts_with(covered)) {
            return Err(unusable(
                "a node has its own /etc, /opt, /run, /tmp, /usr and /var; choose a folder elsewhere",
            ));
        }
        let file = path.join(LOCK);
        let lock = File::options().create(true).append(true).open(&file).doing("opening", &file)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(unusable("another process has a node in it")),
            Err(TryLockError::Error(error)) => return Err(error).doing("locking", &file),
        }
        cgroups::remove(&Self::cgroup_of(&path))?;
        for entry in
            fs::read_dir(&path).doing("reading", &path)?.flatten().filter(|entry| entry.file_name() != LOCK)
        {
            let path = entry.path();
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.doing("removing", &path)?;
        }
        lock.set_len(0).and_then(|()| write!(&lock, "{}", process::id())).doing("writing", &file)?;
        Ok(Self { path, _lock: lock })
    }

    /// Returns the process that has a node in `path` now.
    #[must_use]
    pub fn owner(path: &Path) -> Option<u32> {
        let lock = File::open(path.join(LOCK)).ok()?;
        let held = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
        held.then(|| fs::read_to_string(path.join(LOCK)).ok()?.parse().ok()).flatten()
    }

    /// The default parent folder for nodes: in the user's cache, below `pullwright/nodes`.
    #[must_use]
    pub fn usual_parent() -> PathBuf {
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || PathBuf::from(env::var_os("HOME").unwrap_or_else(|| "/root".into())).join(".cache");
        cache.unwrap_or_else(home).join("pullwright/nodes")
    }

    /// Cleans up all root folders in `parent` whose owner is gone; leaves those of a living owner alone.
    pub fn sweep(parent: &Path) -> Result<(), Error> {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()).filter(|path| path.join(LOCK).exists()) {
            match Self::claim(&path) {
                Ok(root) => drop(root),
                Err(Error::Root { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the node's cgroup.
    #[must_use]
    pub fn cgroup(&self) -> String {
        Self::cgroup_of(&self.path)
    }

    /// Returns the name of the cgroup of a node in the folder `path`. It is derived from the path: no other node has it, and
    /// a process that cleans up after a killed owner knows it.
    #[must_use]
    pub fn cgroup_of(path: &Path) -> String {
        let digest = format!("{:x}", Sha256::digest(path.as_os_str().as_encoded_bytes()));
        format!("pullwright-{}", &digest[..12])
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let left = cgroups::remove(&self.cgroup()).err().map(|error| error.to_string());
        let left = left.or_else(|| fs::remove_dir_all(&self.path).err().map(|error| error.to_string()));
        if let Some(error) = left {
            eprintln!("cleaning up {}: {error}; the next run tries again", self.path.display());
        }
    }
}
