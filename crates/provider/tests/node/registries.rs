//! What the node's `registries.conf` says, and the runtime does.

use std::{error::Error, fs, path::PathBuf};

use pullwright_testkit::{
    node::{MIRROR_LOGIN, Node, Runtime},
    scenario::{PATIENCE, Pod, Scenario},
};

use crate::{Outcome, served};

const MAIN_FILE: &str = "/etc/containers/registries.conf";

/// The main file somewhere else, until this is dropped.
struct Moved<'n> {
    node: &'n Node<'n>,
    to: PathBuf,
}

impl<'n> Moved<'n> {
    fn new(node: &'n Node<'n>, to: &str) -> Result<Self, Box<dyn Error>> {
        let to = node.file(to);
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::rename(node.file(MAIN_FILE), &to)?;
        let moved = Self { node, to };
        node.reload_registries()?;
        Ok(moved)
    }
}

impl Drop for Moved<'_> {
    fn drop(&mut self) {
        if let Err(error) = fs::rename(&self.to, self.node.file(MAIN_FILE)) {
            eprintln!("{MAIN_FILE} is not back: {error}");
        }
        if let Err(error) = self.node.reload_registries() {
            eprintln!("the runtime does not know that {MAIN_FILE} is back: {error}");
        }
    }
}

pub(crate) fn missing(scenario: &mut Scenario<'_>) -> Outcome {
    let _moved = Moved::new(scenario.node(), "/etc/kubernetes/registries.conf.moved")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    scenario.run_pods(&[Pod::new("test-pod", &["docker.io/library/anything:1"])])?;
    scenario.wait_failed_pull("test-pod")?;
    let asked = scenario.registry_log("mirror")?;
    assert!(!asked.iter().any(|line| line.contains("library/anything")), "{asked:#?}");
    assert_eq!(scenario.auth_events()?, []);
    let journal = scenario.journal().join("\n");
    assert!(journal.contains("No mirrors found, will not write any auth file"), "{journal}");
    Ok(())
}

pub(crate) fn drop_ins_only(scenario: &mut Scenario<'_>) -> Outcome {
    let _moved = Moved::new(scenario.node(), "/etc/containers/registries.conf.d/50-all.conf")?;
    pulls_from_the_mirror(scenario, "library/dropped-in:1", "docker.io/library/dropped-in:1")
}

pub(crate) fn prefix(scenario: &mut Scenario<'_>) -> Outcome {
    pulls_from_the_mirror(scenario, "library/rewritten:1", "rewritten.test/rewritten:1")
}

/// containerd is told of hosts, not of paths: there the source is asked by its own name, which leads nowhere.
pub(crate) fn prefix_with_path(scenario: &mut Scenario<'_>) -> Outcome {
    let (repository, image) = ("library/part:1", "path.test/team/part:1");
    if scenario.node().runtime() == Runtime::Crio {
        return pulls_from_the_mirror(scenario, repository, image);
    }
    scenario.node().push("mirror", repository)?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    scenario.run_pods(&[Pod::new("test-pod", &[image])])?;
    let reason = scenario.wait_failed_pull("test-pod")?;
    assert!(reason.contains("path.test"), "{reason}");
    assert!(!served(scenario, "mirror", "library/part")?);
    Ok(())
}

pub(crate) fn tag_only(scenario: &mut Scenario<'_>) -> Outcome {
    pulls_from_the_mirror(scenario, "library/tagged:1", "tags.test/library/tagged:1")
}

fn pulls_from_the_mirror(scenario: &mut Scenario<'_>, repository: &str, image: &str) -> Outcome {
    scenario.node().push("mirror", repository)?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let images = [image];
    let pod = Pod::new("test-pod", &images);
    scenario.run_pods(&[pod])?;
    scenario.wait_ready(&[pod], PATIENCE)?;
    assert!(served(scenario, "mirror", repository.trim_end_matches(":1"))?);
    assert_eq!(scenario.failed_pulls()?, []);
    Ok(())
}

/// The plugin is asked about both Pods in the same words; which mirror serves is for the runtime to know.
pub(crate) fn digest_only(scenario: &mut Scenario<'_>) -> Outcome {
    let digest = scenario.node().push("mirror", "library/pinned:1")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let by_digest = [format!("digests.test/library/pinned@{digest}")];
    let by_digest = by_digest.each_ref().map(String::as_str);
    let pod = Pod::new("by-digest", &by_digest);
    scenario.run_pods(&[pod, Pod::new("by-tag", &["digests.test/library/pinned:1"])])?;
    scenario.wait_ready(&[pod], PATIENCE)?;
    let reason = scenario.wait_failed_pull("by-tag")?;
    assert!(!reason.contains("127.0.0.1:5000"), "{reason}");
    let failed = scenario.failed_pulls()?;
    assert!(failed.iter().all(|(pod, _)| pod == "by-tag"), "{failed:?}");
    Ok(())
}

/// The source is there, knows the namespace's login and has an image that the mirror lacks.
pub(crate) fn never_contact_source(scenario: &mut Scenario<'_>) -> Outcome {
    let node = scenario.node();
    node.push("mirror", "library/mirrored:1")?;
    node.push("source", "library/not-mirrored:1")?;
    let scenario = scenario.in_namespace("blocked")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let pod = Pod::new("mirrored", &["127.0.0.1:5001/library/mirrored:1"]);
    scenario.run_pods(&[pod, Pod::new("not-mirrored", &["127.0.0.1:5001/library/not-mirrored:1"])])?;
    scenario.wait_ready(&[pod], PATIENCE)?;
    scenario.wait_failed_pull("not-mirrored")?;
    let asked = scenario.registry_log("mirror")?;
    assert!(asked.iter().any(|line| line.contains("library/not-mirrored")), "{asked:#?}");
    assert_eq!(scenario.registry_log("source")?, Vec::<String>::new());
    Ok(())
}
