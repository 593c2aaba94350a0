//! A second node beside the first, whose process is killed: everything of it ends, and the next run cleans up only that.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use pullwright_testkit::{
    node::{NAME, Root},
    process::wait_until,
    scenario::{PATIENCE, Scenario},
};

const POD: &str = "
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: default}}
---
apiVersion: v1
kind: Pod
metadata: {name: runs, namespace: default}
spec:
  nodeName: node-a
  automountServiceAccountToken: false
  tolerations: [{operator: Exists}]
  containers: [{name: c, image: docker.io/library/first:1}]
";

pub(crate) fn a_second_node_killed(scenario: &mut Scenario<'_>) -> Result<(), Box<dyn Error>> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("second");
    let nodes = cache.join("pullwright/nodes");
    let root = nodes.join("at-hand");
    let second = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pullwright-node"));
        let output = command.args(arguments).env("XDG_CACHE_HOME", &cache).output()?;
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(text) } else { Err(std::io::Error::other(text)) }
    };
    second(&["up"])?;
    let pod = cache.join("pod.yaml");
    fs::write(&pod, POD)?;
    second(&["kubectl", "apply", "-f", &pod.display().to_string()])?;
    let patience = format!("--timeout={}s", PATIENCE.as_secs());
    second(&["kubectl", "wait", "pod/runs", "--for=condition=Ready", &patience])?;
    assert!(!cgroups_of(&root).is_empty() && !processes_of(&root).is_empty());

    let owner = Root::owner(&root).ok_or("the second node has no owner")?;
    Command::new("kill").args(["-KILL", &owner.to_string()]).status()?;
    wait_until("every process of the killed node ends", Duration::from_secs(20), || {
        let left = processes_of(&root);
        if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
    })?;
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    assert!(!mounts.contains(&root.display().to_string()), "{mounts}");

    Root::sweep(&nodes)?;
    assert_eq!(cgroups_of(&root), Vec::<PathBuf>::new());
    assert!(!root.exists());

    let ready = scenario.node().kubectl().run(&["get", "node", NAME, "--no-headers"])?;
    assert!(ready.contains(" Ready "), "{ready}");
    assert!(!cgroups_of(scenario.node().root()).is_empty());
    Ok(())
}

/// The processes that have the folder in their command line: each service is told its files there.
fn processes_of(root: &Path) -> Vec<String> {
    let root = root.display().to_string();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&root)).collect()
}

fn cgroups_of(root: &Path) -> Vec<PathBuf> {
    let name = Root::cgroup_of(root);
    let hierarchies =
        fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten().map(|entry| entry.path());
    let all = hierarchies.chain([PathBuf::from("/sys/fs/cgroup")]);
    all.map(|hierarchy| hierarchy.join(&name)).filter(|path| path.exists()).collect()
}
