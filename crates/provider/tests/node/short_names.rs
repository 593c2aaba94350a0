//! Names without a registry that may stand for several images: what CRI-O makes of them, and the engine.

use std::{error::Error, fs};

use pullwright_engine::registries::{CandidateError, LoaderEnv};
use pullwright_nodefiles::NodeRoot;
use pullwright_testkit::{
    node::{MIRROR_LOGIN, Node},
    scenario::{PATIENCE, Pod, Scenario},
};

use crate::{Outcome, served};

const SEARCHED: &str = "/etc/containers/registries.conf.d/70-short-names.conf";
const CRIO_DROP_IN: &str = "/etc/crio/crio.conf.d/70-short-names.conf";

/// The registries `fallback` and `mirror`, searched in this order. The mode does not count: CRI-O has its own.
const SEARCH: &str = "
unqualified-search-registries = [\"127.0.0.1:5002\", \"127.0.0.1:5000\"]
short-name-mode = \"permissive\"
[[registry]]
location = \"127.0.0.1:5002\"
insecure = true
[[registry]]
location = \"127.0.0.1:5000\"
insecure = true
";

/// Files of the node's, until this is dropped.
struct Files<'n> {
    node: &'n Node<'n>,
}

impl<'n> Files<'n> {
    fn new(node: &'n Node<'n>) -> Result<Self, Box<dyn Error>> {
        let files = Self { node };
        files.write(SEARCHED, SEARCH)?;
        node.reload_registries()?;
        Ok(files)
    }

    fn write(&self, path: &str, text: &str) -> Outcome {
        let path = self.node.file(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(fs::write(path, text)?)
    }
}

impl Drop for Files<'_> {
    fn drop(&mut self) {
        for path in [SEARCHED, CRIO_DROP_IN] {
            if let Err(error) = fs::remove_file(self.node.file(path)) {
                eprintln!("{path} is still there: {error}");
            }
        }
        if let Err(error) = restart(self.node) {
            eprintln!("the runtime is not back: {error}");
        }
    }
}

/// CRI-O reads its own files only when it starts.
fn restart(node: &Node<'_>) -> Outcome {
    node.kill_runtime();
    Ok(node.start_runtime()?)
}

/// What the engine says about the name on this node, from the same files.
fn resolved(node: &Node<'_>, image: &str) -> Result<Result<Vec<String>, CandidateError>, Box<dyn Error>> {
    let files = NodeRoot::at(&node.file("/"))?;
    let (registries, rule) = (files.registries(&LoaderEnv::default())?, files.short_name_rule()?);
    let candidates = registries.candidates(image, &rule);
    Ok(candidates.map(|all| all.iter().map(|candidate| candidate.reference.to_string()).collect()))
}

pub(crate) fn ambiguous(scenario: &mut Scenario<'_>) -> Outcome {
    const IMAGE: &str = "team/shortly:1";
    let node = scenario.node();
    let files = Files::new(node)?;
    node.push("mirror", IMAGE)?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;

    scenario.run_pods(&[Pod::new("enforcing", &[IMAGE])])?;
    let reason = scenario.wait_failed_pull("enforcing")?;
    let refused = resolved(node, IMAGE)?.err().ok_or("the engine finds a candidate, and CRI-O none")?;
    assert!(reason.contains(&refused.to_string()), "{reason}\n{refused}");
    assert!(!served(scenario, "mirror", "team/shortly")?);
    scenario.delete_pods()?;

    files.write(CRIO_DROP_IN, "[crio.image]\nshort_name_mode = \"disabled\"\n")?;
    restart(node)?;
    let pod = Pod::new("disabled", &[IMAGE]);
    scenario.run_pods(&[pod])?;
    scenario.wait_ready(&[pod], PATIENCE)?;
    assert_eq!(resolved(node, IMAGE)??, ["127.0.0.1:5002/team/shortly:1", "127.0.0.1:5000/team/shortly:1"]);
    let asked_first = scenario.registry_log("fallback")?;
    assert!(asked_first.iter().any(|line| line.contains("team/shortly")), "{asked_first:#?}");
    assert!(served(scenario, "mirror", "team/shortly")?);
    Ok(())
}
