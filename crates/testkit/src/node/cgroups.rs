//! The cgroups of a node, which are the machine's: the one thing of a node that does not end with its namespaces.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Error, error::Doing, process::wait_until};

const MOUNTED_AT: &str = "/sys/fs/cgroup";

/// The roots of all hierarchies: one with cgroup v2, several with v1.
fn hierarchies() -> Vec<PathBuf> {
    let root = Path::new(MOUNTED_AT);
    if root.join("cgroup.procs").exists() {
        return vec![root.to_owned()];
    }
    folders_in(root).into_iter().filter(|folder| folder.join("cgroup.procs").exists()).collect()
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir() && !path.is_symlink()).collect()
}

/// Makes the cgroup `name` in every hierarchy, below which the kubelet makes those of its Pods.
pub(super) fn create(name: &str) -> Result<(), Error> {
    for hierarchy in hierarchies() {
        let switch = hierarchy.join("cgroup.subtree_control");
        for controller in ["cpu", "cpuset", "memory", "pids", "io"] {
            // Only cgroup v2 has this switch, and not every kernel every controller: the kubelet says what it misses.
            let _ = fs::write(&switch, format!("+{controller}"));
        }
        let init = hierarchy.join(name).join("init");
        fs::create_dir_all(&init).doing("creating", &init)?;
    }
    Ok(())
}

/// Puts a process into the cgroup, so that [`remove`] finds it even when nobody knows its id any more.
pub(super) fn add(name: &str, process: u32) -> Result<(), Error> {
    // With v1 a new cpuset takes no process before it has processors; any other hierarchy serves the purpose.
    let hierarchies = hierarchies();
    let hierarchy = hierarchies.iter().find(|path| !path.ends_with("cpuset"));
    if let Some(hierarchy) = hierarchy {
        let processes = hierarchy.join(name).join("init/cgroup.procs");
        fs::write(&processes, process.to_string()).doing("writing", &processes)?;
    }
    Ok(())
}

/// Kills what is left in the cgroup `name` and removes it from every hierarchy.
pub(super) fn remove(name: &str) -> Result<(), Error> {
    let folders: Vec<_> = hierarchies().into_iter().map(|hierarchy| hierarchy.join(name)).collect();
    wait_until(&format!("cgroup {name} is removed"), Duration::from_secs(20), || {
        let left: Vec<_> = folders.iter().filter(|folder| !remove_tree(folder)).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?} still there")) }
    })
}

/// Removes a cgroup from the leaves up; false while a process in it has not ended yet.
fn remove_tree(folder: &Path) -> bool {
    for child in folders_in(folder) {
        remove_tree(&child);
    }
    let processes = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    for process in processes.lines().filter_map(|line| line.parse().ok()).filter_map(Pid::from_raw) {
        // It may have ended since it was listed.
        let _ = kill_process(process, Signal::KILL);
    }
    fs::remove_dir(folder).is_ok() || !folder.exists()
}
