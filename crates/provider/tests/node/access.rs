//! Who may run an image that is on the node already.

use pullwright_testkit::{
    node::MIRROR_LOGIN,
    process::wait_until,
    scenario::{self, PATIENCE, Pod, Scenario},
};

use crate::Outcome;

/// A namespace without a Secret, after another one has brought the image.
pub(crate) fn brought_before(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/private:1")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let refused = scenario::second_namespace(scenario, "docker.io/library/private:1")?;
    assert!(refused.is_some());
    Ok(())
}

/// The same namespace, its Pod waiting when the image comes.
pub(crate) fn brought_after(scenario: &mut Scenario<'_>) -> Outcome {
    let image = ["docker.io/library/awaited:1"];
    scenario.node().push("mirror", "library/awaited:1")?;
    let other = scenario.in_namespace("awaited-other")?;
    let waiting = Pod { policy: "IfNotPresent", ..Pod::new("waits", &image) };
    other.run_pods(&[waiting])?;
    other.wait_failed_pull("waits")?;

    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let brings = Pod::new("brings-the-image", &image);
    scenario.run_pods(&[brings])?;
    scenario.wait_ready(&[brings], PATIENCE)?;
    let before = other.failed_pulls()?.len();
    wait_until("the waiting Pod is tried again", PATIENCE, || {
        let failed = other.failed_pulls().map_err(|error| error.to_string())?.len();
        let runs = other.wait_ready(&[waiting], std::time::Duration::ZERO).is_ok();
        assert!(!runs, "a namespace without a Secret runs the private image");
        if failed > before { Ok(()) } else { Err(format!("{failed} failed pulls")) }
    })?;
    Ok(other.delete_pods()?)
}

/// In the same namespace: one that may read the Secret, and one that may not.
pub(crate) fn second_service_account(scenario: &mut Scenario<'_>) -> Outcome {
    let image = ["docker.io/library/accounts:1"];
    scenario.node().push("mirror", "library/accounts:1")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    for name in ["second", "third"] {
        scenario.apply(&format!(
            "{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: {name}, namespace: @NAMESPACE@}}}}"
        ))?;
    }
    scenario.allow_secrets("second")?;
    let first = Pod::new("first", &image);
    scenario.run_pods(&[first])?;
    scenario.wait_ready(&[first], PATIENCE)?;

    let present = Pod { policy: "IfNotPresent", ..first };
    let second = Pod { name: "second", service_account: "second", ..present };
    let third = Pod { name: "third", service_account: "third", ..present };
    scenario.run_pods(&[second])?;
    scenario.wait_ready(&[second], PATIENCE)?;
    // One after the other: a file is handed to a namespace, and at the same time the third might take the second's.
    scenario.run_pods(&[third])?;
    scenario.wait_failed_pull("third")?;
    let record = scenario.pull_record("docker.io/library/accounts")?.unwrap_or_default();
    let accounts = record["kubernetesServiceAccounts"].as_array().cloned().unwrap_or_default();
    let mut names: Vec<_> = accounts.iter().filter_map(|account| account["name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["default", "second"], "{record}");
    Ok(())
}
