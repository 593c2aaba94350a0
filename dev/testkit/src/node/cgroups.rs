//! The cgroups of a node. They belong to the machine and are the only part of a node that does not end with its namespaces.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Error, error::Doing, process::wait_until};

const MOUNTED_AT: &str = "/sys/fs/cgroup";

/// Returns the roots of all hierarchies: one with cgroup v2, several with v1.
fn hierarchies() -> Vec<PathBuf> {
    let root = Path::new(MOUNTED_AT);
    if is_hierarchy(root) {
        return vec![root.to_owned()];
    }
    folders_in(root).into_iter().filter(|folder| is_hierarchy(folder)).collect()
}

/// Whether a hierarchy is mounted at `folder`: only the kernel can put this file there.
fn is_hierarchy(folder: &Path) -> bool {
    folder.join("cgroup.procs").is_file()
}

/// Returns the kernel's list of controllers without those that are not mounted: a runtime that trusts the full list sets
/// limits that runc cannot apply. `None` with cgroup v2, where nobody reads that list.
pub(super) fn mounted_controllers() -> Result<Option<String>, Error> {
    let (root, list) = (Path::new(MOUNTED_AT), Path::new("/proc/cgroups"));
    if is_hierarchy(root) {
        return Ok(None);
    }
    let listed = fs::read_to_string(list).doing("reading", list)?;
    Ok(Some(mounted_of(&listed, root)))
}

/// Returns the heading of `listed` and the lines whose controllers are mounted below `root`.
fn mounted_of(listed: &str, root: &Path) -> String {
    let mounted = |line: &&str| {
        let name = line.split_whitespace().next().unwrap_or_default();
        name.starts_with('#') || is_hierarchy(&root.join(name))
    };
    listed.lines().filter(mounted).map(|line| format!("{line}\n")).collect()
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir() && !path.is_symlink()).collect()
}

/// Creates the cgroup `name` in every hierarchy. The kubelet creates those of its Pods below it.
pub(super) fn create(name: &str) -> Result<(), Error> {
    for hierarchy in hierarchies() {
        let switch = hierarchy.join("cgroup.subtree_control");
        for controller in ["cpu", "cpuset", "memory", "pids", "io"] {
            // Only cgroup v2 has this file, and not every kernel has every controller: the kubelet reports what is missing.
            let _ = fs::write(&switch, format!("+{controller}"));
        }
        let folder = hierarchy.join(name);
        fs::create_dir_all(&folder).doing("creating", &folder)?;
        for file in ["cpuset.cpus", "cpuset.mems"] {
            // With v1, a new cpuset accepts no process before it has processors and memory.
            if let Ok(all) = fs::read(hierarchy.join(file)) {
                fs::write(folder.join(file), all).doing("writing", &folder.join(file))?;
            }
        }
    }
    Ok(())
}

/// Puts a process into a leaf of the cgroup, so that [`remove`] finds it even if nobody knows its id any more. With v2, the
/// cgroup itself must stay empty.
pub(super) fn add(name: &str, process: u32) -> Result<(), Error> {
    // One hierarchy is enough to be found in.
    if let Some(hierarchy) = hierarchies().first() {
        let leaf = hierarchy.join(name).join("init");
        fs::create_dir_all(&leaf).doing("creating", &leaf)?;
        let processes = leaf.join("cgroup.procs");
        fs::write(&processes, process.to_string()).doing("writing", &processes)?;
    }
    Ok(())
}

/// Kills everything in the cgroup `name` and removes it from every hierarchy.
pub(super) fn remove(name: &str) -> Result<(), Error> {
    let folders: Vec<_> = hierarchies().into_iter().map(|hierarchy| hierarchy.join(name)).collect();
    wait_until(&format!("cgroup {name} is removed"), Duration::from_secs(20), || {
        let left: Vec<_> = folders.iter().filter(|folder| !remove_tree(folder)).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?} still there")) }
    })
}

/// Removes a cgroup from the leaves up; returns false while a process in it is still running.
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

#[cfg(test)]
mod tests {
    use super::{fs, mounted_of};

    #[test]
    fn a_controller_is_mounted_only_where_the_kernel_says_so() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["memory", "cpu,cpuacct", "hugetlb"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        for hierarchy in ["memory", "cpu,cpuacct"] {
            fs::write(root.path().join(hierarchy).join("cgroup.procs"), "").unwrap();
        }
        // As systemd names two controllers of one hierarchy.
        std::os::unix::fs::symlink("cpu,cpuacct", root.path().join("cpu")).unwrap();

        let heading = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n";
        let listed = format!("{heading}cpu\t1\t1\t1\nmemory\t4\t15\t1\nhugetlb\t0\t1\t1\npids\t8\t1\t1\n");
        let mounted = mounted_of(&listed, root.path());
        assert_eq!(mounted, format!("{heading}cpu\t1\t1\t1\nmemory\t4\t15\t1\n"));
    }
}
