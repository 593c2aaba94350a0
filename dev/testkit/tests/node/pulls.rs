//! Pulls as they should go, and as they should fail.

use std::error::Error;

use pullwright_testkit::{
    node::{MIRROR_LOGIN, Runtime},
    registry::Login,
    scenario::{PATIENCE, Pod, Scenario, WHOLE_THEN_TAKEN_THEN_GONE},
};

/// Who may use the registry that speaks TLS.
pub(crate) const TLS_LOGIN: Login = Login { user: "tlsuser", password: "tlspass" };

type Outcome = Result<(), Box<dyn Error>>;

pub(crate) fn through_the_mirror(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/first:1")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let pod = Pod::new("test-pod", &["docker.io/library/first:1"]);
    scenario.run_pods(&[pod])?;
    let took = scenario.wait_ready(&[pod], PATIENCE)?;
    scenario.figure(format!("Ready {:.1} s after apply", took.as_secs_f64()));

    let log = scenario.registry_log("mirror")?;
    let authorized = log.iter().any(|line| {
        line.contains("authorized request")
            && line.contains("method=GET")
            && line.contains("vars.name=library/first")
    });
    assert!(authorized, "the mirror served nobody it knew:\n{}", log.join("\n"));

    let record = scenario.pull_record("docker.io/library/first")?.unwrap_or_default();
    match scenario.node().runtime() {
        // The kubelet had the credentials, and so knows whose they were.
        Runtime::Containerd | Runtime::ContainerdWithImages => {
            let account = &record["kubernetesServiceAccounts"][0];
            assert_eq!(
                (&account["namespace"], &account["name"]),
                (&"app-team-alpha".into(), &"default".into())
            );
        }
        // The Go plugin tells the kubelet nothing, which therefore takes the image for a public one.
        Runtime::Crio => assert_eq!(record["nodePodsAccessible"], true, "{record}"),
    }
    Ok(())
}

pub(crate) fn wrong_password(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/refused:1")?;
    scenario.give_login("mirror", Login { password: "wrong", ..MIRROR_LOGIN })?;
    scenario.run_pods(&[Pod::new("test-pod", &["docker.io/library/refused:1"])])?;
    let reason = scenario.wait_failed_pull("test-pod")?;
    let expected = match scenario.node().runtime() {
        Runtime::Containerd | Runtime::ContainerdWithImages => "401 Unauthorized",
        Runtime::Crio => "authentication required",
    };
    assert!(reason.contains(expected), "{reason}");
    scenario.figure(reason);
    let log = scenario.registry_log("mirror")?;
    assert!(log.iter().any(|line| line.contains("authentication failure")), "{}", log.join("\n"));
    Ok(())
}

pub(crate) fn over_tls(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("tls", "private/image:1")?;
    scenario.give_login("tls", TLS_LOGIN)?;
    let pod =
        Pod { pull_secret: Some("login-tls"), ..Pod::new("test-pod", &["127.0.0.1:5001/private/image:1"]) };
    scenario.run_pods(&[pod])?;
    scenario.wait_ready(&[pod], PATIENCE)?;
    let log = scenario.registry_log("tls")?;
    assert!(
        log.iter()
            .any(|line| line.contains("authorized request") && line.contains("vars.name=private/image"))
    );
    Ok(())
}

pub(crate) fn life_of_the_auth_file(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/life:1")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let pod = Pod::new("test-pod", &["docker.io/library/life:1"]);
    scenario.run_pods(&[pod])?;
    scenario.wait_ready(&[pod], PATIENCE)?;

    // SHA-256 of `docker.io/library/life`.
    let name = format!("auth-file-{LIFE}");
    assert_eq!(scenario.auth_file_life(&name)?, WHOLE_THEN_TAKEN_THEN_GONE);
    assert_eq!(scenario.credentials_lying_about()?, Vec::<String>::new());
    Ok(())
}

const LIFE: &str = "69885f79f54bd640d795898da3202b7f67242449f5a395b820316b5b8b0a4aee";
