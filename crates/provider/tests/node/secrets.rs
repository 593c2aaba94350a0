//! Every form in which a namespace may have its logins.

use pullwright_testkit::{
    node::MIRROR_LOGIN,
    registry::Login,
    scenario::{
        PATIENCE, Pod, Scenario,
        SecretKind::{DockerCfg, DockerConfigJson},
        entry,
    },
};
use serde_json::json;

use crate::{Outcome, served};

pub(crate) fn dockercfg(scenario: &mut Scenario<'_>) -> Outcome {
    let auths = json!({scenario.address("mirror")?: entry(MIRROR_LOGIN)});
    scenario.add_secret("old-form", DockerCfg, &auths)?;
    scenario.allow_secrets("default")?;
    runs(scenario, "dockercfg")
}

pub(crate) fn username_and_password(scenario: &mut Scenario<'_>) -> Outcome {
    let Login { user, password } = MIRROR_LOGIN;
    let auths = json!({scenario.address("mirror")?: {"username": user, "password": password}});
    scenario.add_secret("no-auth-field", DockerConfigJson, &auths)?;
    scenario.allow_secrets("default")?;
    runs(scenario, "no-auth-field")
}

/// By name: one without a login, then the right one, then one with a wrong password.
pub(crate) fn two_for_one_host(scenario: &mut Scenario<'_>) -> Outcome {
    let address = scenario.address("mirror")?;
    let wrong = Login { password: "wrong", ..MIRROR_LOGIN };
    scenario.add_secret("c-wrong", DockerConfigJson, &json!({&address: entry(wrong)}))?;
    scenario.add_secret("a-empty", DockerConfigJson, &json!({&address: {"auth": "not base64!"}}))?;
    scenario.add_secret("b-right", DockerConfigJson, &json!({&address: entry(MIRROR_LOGIN)}))?;
    scenario.allow_secrets("default")?;
    runs(scenario, "two-secrets")
}

/// A Pod with an image of that name is Ready without a failed pull.
fn runs(scenario: &mut Scenario<'_>, image: &str) -> Outcome {
    scenario.node().push("mirror", &format!("library/{image}:1"))?;
    let images = [format!("docker.io/library/{image}:1")];
    let images = images.each_ref().map(String::as_str);
    let pod = Pod::new("test-pod", &images);
    scenario.run_pods(&[pod])?;
    scenario.wait_ready(&[pod], PATIENCE)?;
    assert!(served(scenario, "mirror", &format!("library/{image}"))?);
    assert_eq!(scenario.failed_pulls()?, []);
    Ok(())
}

/// The service account may see itself and the one Secret that it names.
pub(crate) fn named(scenario: &mut Scenario<'_>) -> Outcome {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "app", "namespace": "@NAMESPACE@"}, "imagePullSecrets": [{"name": "mine"}],
    });
    let itself = json!({
        "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get"], "resourceNames": ["app"],
    });
    runs_with_named_secret(scenario, &account, &[itself])
}

/// Named by the annotation, the service account need not even see itself.
pub(crate) fn annotated(scenario: &mut Scenario<'_>) -> Outcome {
    let annotations = json!({"pullwright.dev/pull-secrets": "mine"});
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "app", "namespace": "@NAMESPACE@", "annotations": annotations},
    });
    runs_with_named_secret(scenario, &account, &[])
}

fn runs_with_named_secret(
    scenario: &mut Scenario<'_>,
    account: &serde_json::Value,
    rules: &[serde_json::Value],
) -> Outcome {
    let address = scenario.address("mirror")?;
    let wrong = Login { password: "wrong", ..MIRROR_LOGIN };
    scenario.add_secret("another", DockerConfigJson, &json!({&address: entry(wrong)}))?;
    scenario.add_secret("mine", DockerConfigJson, &json!({&address: entry(MIRROR_LOGIN)}))?;
    scenario.apply(&account.to_string())?;
    let secret =
        json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["mine"]});
    scenario.allow("app", &[rules, &[secret]].concat().into())?;

    let repository = format!("library/{}", scenario.namespace());
    scenario.node().push("mirror", &format!("{repository}:1"))?;
    let images = [format!("by.name.test/{repository}:1")];
    let images = images.each_ref().map(String::as_str);
    let pod = Pod { service_account: "app", ..Pod::new("test-pod", &images) };
    scenario.run_pods(&[pod])?;
    scenario.wait_ready(&[pod], PATIENCE)?;
    assert!(served(scenario, "mirror", &repository)?);
    assert_eq!(scenario.failed_pulls()?, []);
    Ok(())
}
