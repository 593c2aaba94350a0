//! Credentials in the answer, for a runtime that may show them to every host of the pull.

use std::error::Error;

use pullwright_testkit::{
    node::MIRROR_LOGIN,
    scenario::{PATIENCE, Pod, Scenario, SecretKind::DockerConfigJson, entry},
};
use serde_json::json;

use crate::{Outcome, SHARED_LOGIN, served};

/// The namespace has the same login for the source and its mirror.
pub(crate) fn same_login(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/same:1")?;
    let [mirror, source] = ["mirror", "source"].map(|name| scenario.address(name));
    let auths = json!({mirror?: entry(SHARED_LOGIN), source?: entry(SHARED_LOGIN)});
    scenario.add_secret("login", DockerConfigJson, &auths)?;
    scenario.allow_secrets("default")?;
    let pod = Pod::new("test-pod", &["127.0.0.1:5001/library/same:1"]);
    scenario.run_pods(&[pod])?;
    scenario.wait_ready(&[pod], PATIENCE)?;
    assert!(served(scenario, "mirror", "library/same")?);
    let record = scenario.pull_record("127.0.0.1:5001/library/same")?.unwrap_or_default();
    assert_eq!(record["kubernetesServiceAccounts"][0]["namespace"], "same-login", "{record}");
    Ok(())
}

/// The source would be shown the mirror's password.
pub(crate) fn withheld(scenario: &mut Scenario<'_>) -> Outcome {
    is_withheld(scenario, "withheld.test/library/withheld:1", "withheld.test")
}

/// `registries.conf` blocks the source. That is a word to CRI-O, which containerd does not hear.
pub(crate) fn blocked(scenario: &mut Scenario<'_>) -> Outcome {
    is_withheld(scenario, "blocked.test/library/blocked:1", "blocked.test")
}

fn is_withheld(scenario: &mut Scenario<'_>, image: &str, host: &str) -> Outcome {
    let images = [image];
    let pod = Pod::new("test-pod", &images);
    begin(scenario, pod)?;
    scenario.wait_failed_pull(pod.name)?;
    let repository = format!("library/{}", scenario.namespace());
    assert!(!served(scenario, "mirror", &repository)?);
    let journal = scenario.journal().join("\n");
    let why = format!("the runtime may also show the credential to {host}, for which it was not written");
    assert!(journal.contains(&why), "{journal}");
    Ok(())
}

pub(crate) fn every_host(scenario: &mut Scenario<'_>) -> Outcome {
    let pod = Pod::new("test-pod", &["dangerous.test/library/every-host:1"]);
    begin(scenario, pod)?;
    scenario.wait_ready(&[pod], PATIENCE)?;
    assert!(served(scenario, "mirror", "library/every-host")?);
    Ok(())
}

/// Runs the Pod where the namespace has a login for the mirror only.
fn begin(scenario: &Scenario<'_>, pod: Pod<'_>) -> Result<(), Box<dyn Error>> {
    scenario.node().push("mirror", &format!("library/{}:1", scenario.namespace()))?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    Ok(scenario.run_pods(&[pod])?)
}
