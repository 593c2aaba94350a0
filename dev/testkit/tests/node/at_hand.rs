//! The node that people have at hand, started as they start it, beside the node of these tests.

use std::{
    collections::BTreeSet,
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use pullwright_testkit::{
    node::{NAME, Root, Runtime, SystemdNode},
    process::wait_until,
    scenario::{PATIENCE, SAMPLE_POD, Scenario, sample},
};

type Outcome = Result<(), Box<dyn Error>>;

/// The sample of the documentation, applied as the documentation says.
pub(crate) fn sample_as_documented(scenario: &mut Scenario<'_>) -> Outcome {
    let second = Second::up(scenario.node().runtime(), &[])?;
    second.run_sample()?;
    second.run(&["down"])?;
    assert!(!second.root().exists());
    Ok(())
}

/// A process that is killed: everything of its node ends, and the next run cleans up only that.
pub(crate) fn killed(scenario: &mut Scenario<'_>) -> Outcome {
    let second = Second::up(scenario.node().runtime(), &[])?;
    second.run_sample()?;
    second.kill()?;
    let ready = scenario.node().kubectl().run(&["get", "node", NAME, "--no-headers"])?;
    assert!(ready.contains(" Ready "), "{ready}");
    assert!(!cgroups_of(scenario.node().root()).is_empty());
    Ok(())
}

/// The same with a node under systemd, which has all of its cgroups in the machine's hierarchies.
pub(crate) fn killed_under_systemd(node: &SystemdNode<'_>) -> Outcome {
    let machine = hierarchies();
    let second = Second::up(node.runtime(), &["--systemd"])?;
    second.kill()?;
    assert_eq!(hierarchies(), machine);
    node.wait_ready()?;
    assert!(!cgroups_of(node.root()).is_empty());
    Ok(())
}

/// A node at hand in a cache of its own.
struct Second {
    cache: PathBuf,
}

impl Second {
    fn up(runtime: Runtime, options: &[&str]) -> io::Result<Self> {
        let second = Self { cache: Path::new(env!("CARGO_TARGET_TMPDIR")).join("second") };
        second.run(&[&["up", "--runtime", &runtime.to_string()], options].concat())?;
        Ok(second)
    }

    /// Kills the owner of the node and shows that nothing of it is left after the next run.
    fn kill(&self) -> Outcome {
        let root = self.root();
        assert!(!cgroups_of(&root).is_empty() && !processes_of(&root).is_empty());
        let owner = Root::owner(&root).ok_or("the second node has no owner")?;
        Command::new("kill").args(["-KILL", &owner.to_string()]).status()?;
        wait_until("every process of the killed node ends", Duration::from_secs(20), || {
            let left = processes_of(&root);
            if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
        })?;
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        assert!(!mounts.contains(&root.display().to_string()), "{mounts}");

        Root::sweep(&self.nodes())?;
        assert_eq!(cgroups_of(&root), Vec::<PathBuf>::new());
        assert!(!root.exists());
        Ok(())
    }

    /// `cargo xtask node` with these arguments, and what it prints.
    fn run(&self, arguments: &[&str]) -> io::Result<String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pullwright-node"));
        let output = command.args(arguments).env("XDG_CACHE_HOME", &self.cache).output()?;
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(text) } else { Err(io::Error::other(text)) }
    }

    fn run_sample(&self) -> io::Result<()> {
        let file = self.cache.join("first.yaml");
        fs::write(&file, sample())?;
        self.run(&["kubectl", "apply", "-f", &file.display().to_string()])?;
        let (pod, patience) = (format!("pod/{SAMPLE_POD}"), format!("--timeout={}s", PATIENCE.as_secs()));
        self.run(&["kubectl", "wait", &pod, "--for=condition=Ready", &patience]).map(drop)
    }

    fn nodes(&self) -> PathBuf {
        self.cache.join("pullwright/nodes")
    }

    fn root(&self) -> PathBuf {
        self.nodes().join("at-hand")
    }
}

/// The processes of a node: those in its cgroups, and those that have its folder in their command line, since each service is told
/// its files there.
fn processes_of(root: &Path) -> Vec<String> {
    let cgroups = cgroups_of(root);
    let in_cgroups = cgroups.iter().flat_map(|cgroup| processes_in(cgroup));
    let root = root.display().to_string();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&root)).chain(in_cgroups).collect()
}

/// The ids of the processes in a cgroup and those below it, as this machine counts them.
pub(crate) fn processes_in(cgroup: &Path) -> BTreeSet<String> {
    let listed = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    let entries = fs::read_dir(cgroup).into_iter().flatten().flatten().map(|entry| entry.path());
    let below = entries.filter(|path| path.is_dir()).flat_map(|path| processes_in(&path));
    listed.lines().map(str::to_owned).chain(below).collect()
}

/// The cgroups of a node, one for each hierarchy.
pub(crate) fn cgroups_of(root: &Path) -> Vec<PathBuf> {
    let name = Root::cgroup_of(root);
    let all = hierarchies().into_iter().chain([PathBuf::from("/sys/fs/cgroup")]);
    all.map(|hierarchy| hierarchy.join(&name)).filter(|path| path.exists()).collect()
}

/// What the machine has in the folder where it mounts the hierarchies of cgroup v1. With v2, nothing is mounted below it.
fn hierarchies() -> BTreeSet<PathBuf> {
    let folder = Path::new("/sys/fs/cgroup");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|_| !folder.join("cgroup.procs").exists()).collect()
}
