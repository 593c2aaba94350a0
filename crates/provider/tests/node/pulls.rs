//! Pulls as they should go, and as they should fail.

use std::fs;

use pullwright_testkit::{
    node::{GLOBAL_AUTH_FILE, MIRROR_LOGIN, Runtime},
    registry::{Login, users_shown},
    scenario::{
        PATIENCE, Pod, SAMPLE_IMAGE, SAMPLE_POD, Scenario, SecretKind::DockerConfigJson,
        WHOLE_THEN_TAKEN_THEN_GONE, entry, sample,
    },
};
use serde_json::json;

use crate::{GLOBAL_LOGIN, Outcome, SHARED_LOGIN, served};

pub(crate) fn happy(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/first:1")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let pod = Pod::new("test-pod", &["docker.io/library/first:1"]);
    scenario.run_pods(&[pod])?;
    let took = scenario.wait_ready(&[pod], PATIENCE)?;
    scenario.figure(format!("Ready {:.1} s after apply", took.as_secs_f64()));

    assert!(served(scenario, "mirror", "library/first")?);
    assert_eq!(scenario.failed_pulls()?, []);
    let record = scenario.pull_record("docker.io/library/first")?.unwrap_or_default();
    let account = &record["kubernetesServiceAccounts"][0];
    assert_eq!((&account["namespace"], &account["name"]), (&json!("happy"), &json!("default")), "{record}");

    assert_eq!(scenario.auth_file_life("happy-")?, WHOLE_THEN_TAKEN_THEN_GONE);
    Ok(())
}

/// With our plugin, what people are told to apply is all that a Pod needs.
pub(crate) fn sample_as_documented(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", SAMPLE_IMAGE)?;
    scenario.apply(sample())?;
    scenario.wait_ready(&[Pod::new(SAMPLE_POD, &[])], PATIENCE)?;
    // What another scenario has brought, containerd only asks about.
    let asked = scenario.registry_log("mirror")?;
    assert!(asked.iter().any(|line| line.contains("authorized request") && line.contains("library/first")));
    assert_eq!(scenario.failed_pulls()?, []);
    Ok(())
}

pub(crate) fn wrong_secret(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/refused:1")?;
    scenario.give_login("mirror", Login { password: "wrong", ..MIRROR_LOGIN })?;
    scenario.run_pods(&[Pod::new("test-pod", &["docker.io/library/refused:1"])])?;
    let reason = scenario.wait_failed_pull("test-pod")?;
    let expected = match scenario.node().runtime() {
        Runtime::Crio => "authentication required",
        Runtime::Containerd | Runtime::ContainerdWithImages => "401 Unauthorized",
    };
    assert!(reason.contains(expected), "{reason}");
    Ok(())
}

pub(crate) fn no_role(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/forbidden:1")?;
    let auths = json!({scenario.address("mirror")?: entry(MIRROR_LOGIN)});
    scenario.add_secret("login", DockerConfigJson, &auths)?;
    scenario.run_pods(&[Pod::new("test-pod", &["docker.io/library/forbidden:1"])])?;
    scenario.wait_failed_pull("test-pod")?;
    let log = scenario.node().log("kubelet").text();
    let said =
        log.lines().find(|line| line.contains("\"system:serviceaccount:no-role:default\" cannot list"));
    let said = said.ok_or("the kubelet logged nothing of it")?;
    assert!(said.ends_with("(403): give the Pod's service account a Role that allows it"), "{said}");
    assert_eq!(scenario.credentials_lying_about()?, Vec::<String>::new());
    Ok(())
}

/// The first mirror, for which the namespace has a login, lacks the image; the second's login is the node's.
pub(crate) fn global_file_merged(scenario: &mut Scenario<'_>) -> Outcome {
    write_global_file(scenario)?;
    scenario.node().push("fallback", "library/merged:1")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let pod = Pod::new("test-pod", &["both.test/library/merged:1"]);
    scenario.run_pods(&[pod])?;
    scenario.wait_ready(&[pod], PATIENCE)?;
    assert!(served(scenario, "fallback", "library/merged")?);
    let asked = scenario.registry_log("mirror")?;
    assert!(asked.iter().any(|line| line.contains("authorized request") && line.contains("library/merged")));
    Ok(())
}

/// A runtime uses a file that it is handed *instead of* the node's: one without a login would take that away.
pub(crate) fn global_file_alone(scenario: &mut Scenario<'_>) -> Outcome {
    write_global_file(scenario)?;
    scenario.node().push("fallback", "library/alone:1")?;
    scenario.allow_secrets("default")?;
    let pod = Pod::new("test-pod", &["both.test/library/alone:1"]);
    scenario.run_pods(&[pod])?;
    scenario.wait_ready(&[pod], PATIENCE)?;
    assert!(served(scenario, "fallback", "library/alone")?);
    assert_eq!(scenario.auth_events()?, []);
    Ok(())
}

/// What the kubelet itself knows goes to the runtime as ever, before the node's own: the Pod names the Secret, and no plugin
/// is run for the image.
pub(crate) fn own_pull_secret(scenario: &mut Scenario<'_>) -> Outcome {
    write_global_file(scenario)?;
    scenario.node().push("fallback", "library/own:1")?;
    let scenario = &mut scenario.in_namespace("pull-secret")?;
    scenario.give_login("fallback", SHARED_LOGIN)?;
    let image = format!("{}/library/own:1", scenario.address("fallback")?);
    let images = [image.as_str()];
    let pod = Pod { pull_secret: Some("login-fallback"), ..Pod::new("test-pod", &images) };
    scenario.run_pods(&[pod])?;
    scenario.wait_ready(&[pod], PATIENCE)?;
    assert!(served(scenario, "fallback", "library/own")?);
    let shown = users_shown(&scenario.registry_log("fallback")?.join("\n"));
    assert_eq!(shown.into_iter().collect::<Vec<_>>(), [SHARED_LOGIN.user]);
    assert_eq!(scenario.failed_pulls()?, []);
    assert_eq!(scenario.auth_events()?, []);
    Ok(())
}

fn write_global_file(scenario: &Scenario<'_>) -> Outcome {
    let content = json!({"auths": {scenario.address("fallback")?: entry(GLOBAL_LOGIN)}});
    Ok(fs::write(scenario.node().file(GLOBAL_AUTH_FILE), content.to_string())?)
}
