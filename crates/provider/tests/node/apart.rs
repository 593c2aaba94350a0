//! Service accounts of one namespace: what was handed over for one pull serves no other account's, and never makes the
//! kubelet take a private image for public.

use std::time::Duration;

use pullwright_testkit::{
    node::{MIRROR_LOGIN, Runtime},
    process::wait_until,
    scenario::{PATIENCE, Pod, Scenario, SecretKind::DockerConfigJson, entry},
};
use serde_json::{Value, json};

use crate::{Outcome, many::WITHOUT_LIMIT};

/// How long a file may stand that nobody takes, and the sweeper's share.
const STOOD: Duration = Duration::from_secs(2 + 2);
/// How many Pods of each account race at a time, and how often.
const RACERS: usize = 25;
const RACES: usize = 4;

/// The scenario's image, and the two accounts: `default` may use the Secret, `other` may not.
struct Scene {
    image: String,
    repository: String,
    account: &'static str,
}

impl Scene {
    /// All pull secrets are listed.
    fn with_list(scenario: &Scenario<'_>) -> Result<Self, Box<dyn std::error::Error>> {
        scenario.give_login("mirror", MIRROR_LOGIN)?;
        Self::new(scenario, "docker.io", "default")
    }

    /// Each is asked for by name.
    fn with_names(scenario: &Scenario<'_>) -> Result<Self, Box<dyn std::error::Error>> {
        let auths = json!({scenario.address("mirror")?: entry(MIRROR_LOGIN)});
        scenario.add_secret("mine", DockerConfigJson, &auths)?;
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {
                "name": "named", "namespace": "@NAMESPACE@", "annotations": {"pullwright.dev/pull-secrets": "mine"},
            },
        });
        scenario.apply(&account.to_string())?;
        let get = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["mine"]}]);
        scenario.allow("named", &get)?;
        Self::new(scenario, "by.name.test", "named")
    }

    fn new(
        scenario: &Scenario<'_>,
        registry: &str,
        account: &'static str,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        scenario.apply(
            "{apiVersion: v1, kind: ServiceAccount, metadata: {name: other, namespace: @NAMESPACE@}}",
        )?;
        let repository = format!("library/{}", scenario.namespace());
        scenario.node().push("mirror", &format!("{repository}:1"))?;
        let repository = format!("{registry}/{repository}");
        Ok(Self { image: format!("{repository}:1"), repository, account })
    }

    fn run(&self, scenario: &Scenario<'_>, name: &str, account: &str, policy: &str) -> Outcome {
        let images = [self.image.as_str()];
        let pod = Pod { service_account: account, policy, ..Pod::new(name, &images) };
        Ok(scenario.run_pods(&[pod])?)
    }

    fn is_ready(&self, scenario: &Scenario<'_>, name: &str, within: Duration) -> Outcome {
        let images = [self.image.as_str()];
        scenario.wait_ready(&[Pod::new(name, &images)], within)?;
        Ok(())
    }

    /// The image is on the node, and a file was handed over for a pull that the kubelet then did not begin.
    fn leave_one(&self, scenario: &mut Scenario<'_>) -> Outcome {
        self.run(scenario, "brings", self.account, "Always")?;
        self.is_ready(scenario, "brings", PATIENCE)?;
        let put = |scenario: &mut Scenario<'_>| {
            let events = scenario.auth_events()?;
            let whole = |file: &str| !file.starts_with("in-use/") && !file.contains(".auth-");
            let here = pullwright_testkit::scenario::Change::MovedHere;
            let put = events.iter().filter(|event| event.change == here && whole(&event.file)).count();
            Ok::<_, Box<dyn std::error::Error>>(put)
        };
        let before = put(scenario)?;
        self.run(scenario, "present", self.account, "IfNotPresent")?;
        self.is_ready(scenario, "present", PATIENCE)?;
        assert!(
            put(scenario)? > before,
            "the kubelet no longer runs the plugin for an image that is present"
        );
        Ok(())
    }

    /// Another account's Pod does not start; its pull fails.
    fn other_is_refused(&self, scenario: &Scenario<'_>, name: &str) -> Outcome {
        self.run(scenario, name, "other", "Always")?;
        let images = [self.image.as_str()];
        let refused = scenario.wait_ready_or_failed(Pod::new(name, &images), PATIENCE)?;
        assert!(refused.is_some(), "{name} runs a private image with another account's credential");
        Ok(())
    }

    /// The record names this account and no other, and the image is not for every Pod.
    fn record_names_one(&self, scenario: &Scenario<'_>) -> Outcome {
        let record = self.record(scenario)?;
        let accounts = record["kubernetesServiceAccounts"].as_array().cloned().unwrap_or_default();
        let names: Vec<_> = accounts.iter().filter_map(|account| account["name"].as_str()).collect();
        assert_eq!(names, [self.account], "{record}");
        Ok(())
    }

    fn record(&self, scenario: &Scenario<'_>) -> Result<Value, Box<dyn std::error::Error>> {
        let record = scenario.pull_record(&self.repository)?.unwrap_or_default();
        assert!(record["nodePodsAccessible"] != true, "every namespace may use the image: {record}");
        Ok(record)
    }

    /// Nor may a Pod of another namespace use it.
    fn other_namespace_is_refused(&self, scenario: &Scenario<'_>) -> Outcome {
        let other = scenario.in_namespace(&format!("{}-elsewhere", scenario.namespace()))?;
        let images = [self.image.as_str()];
        let pod = Pod { policy: "IfNotPresent", ..Pod::new("uses-the-image", &images) };
        other.run_pods(&[pod])?;
        let refused = other.wait_ready_or_failed(pod, PATIENCE)?;
        assert!(refused.is_some(), "another namespace runs the private image");
        Ok(other.delete_pods()?)
    }
}

/// The sequence: a file is left, and an account that may not read Secrets pulls; at once, after the bound, and after the
/// kubelet has started again.
fn opens_nothing(scenario: &mut Scenario<'_>, scene: &Scene) -> Outcome {
    scene.leave_one(scenario)?;
    scene.other_is_refused(scenario, "at-once")?;
    scene.record_names_one(scenario)?;
    scene.run(scenario, "present-again", scene.account, "IfNotPresent")?;
    scene.is_ready(scenario, "present-again", PATIENCE)?;
    std::thread::sleep(STOOD);
    scene.other_is_refused(scenario, "after-the-bound")?;
    scene.record_names_one(scenario)?;
    scenario.node().restart_kubelet(WITHOUT_LIMIT)?;
    scene.other_is_refused(scenario, "after-a-restart")?;
    scene.record_names_one(scenario)?;
    scene.other_namespace_is_refused(scenario)
}

pub(crate) fn leftover(scenario: &mut Scenario<'_>) -> Outcome {
    let scene = Scene::with_list(scenario)?;
    opens_nothing(scenario, &scene)
}

pub(crate) fn leftover_with_named_secrets(scenario: &mut Scenario<'_>) -> Outcome {
    let scene = Scene::with_names(scenario)?;
    opens_nothing(scenario, &scene)
}

/// Without the API server the kubelet has no token for the plugin, so it pulls without credentials.
pub(crate) fn leftover_without_the_api_server(scenario: &mut Scenario<'_>) -> Outcome {
    let scene = Scene::with_list(scenario)?;
    scene.leave_one(scenario)?;
    std::thread::sleep(STOOD);
    let node = scenario.node();
    let pod = node.kubectl().json(&["get", "pod", "brings", "-n", scenario.namespace()])?;
    let uid = pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let log = node.log("kubelet").mark();
    node.control_plane().stop_api_server();
    let pulled = || {
        let kill = format!("kill -9 $(grep -l 'pod{uid}' /proc/[0-9]*/cgroup | cut -d/ -f3)");
        node.place().run("sh", &["-c", &kill])?;
        let image = &scene.image;
        wait_until("the kubelet pulls again", PATIENCE, || {
            let since = node.log("kubelet").since(log);
            let pulling = since.iter().any(|line| line.contains("Pulling image") && line.contains(image));
            let done = since.iter().any(|line| {
                (line.contains("Failed to pull image") || line.contains("Successfully pulled"))
                    && line.contains(image)
            });
            if pulling && done { Ok(()) } else { Err(since.join("\n")) }
        })
    };
    let pulled = pulled();
    node.control_plane().start_api_server()?;
    pulled?;
    scene.record_names_one(scenario)?;
    scene.other_namespace_is_refused(scenario)
}

/// Many Pods of both accounts at once.
pub(crate) fn at_the_same_moment(scenario: &mut Scenario<'_>) -> Outcome {
    let (mut started, mut failed) = (0, 0);
    for race in 0..RACES {
        let race = scenario.in_namespace(&format!("{}-{race}", scenario.namespace()))?;
        let scene = Scene::with_list(&race)?;
        let images = [scene.image.as_str()];
        let names: Vec<_> = (0..2 * RACERS).map(|number| format!("race-{number}")).collect();
        let account = |number| if number % 2 == 0 { "default" } else { "other" };
        let pods: Vec<_> = (names.iter().enumerate())
            .map(|(number, name)| Pod { service_account: account(number), ..Pod::new(name, &images) })
            .collect();
        race.run_pods(&pods)?;
        let (may, may_not): (Vec<_>, Vec<_>) = pods.iter().partition(|pod| pod.service_account == "default");
        race.wait_ready(&may, PATIENCE)?;
        started += wait_until("each without a credential is refused, or starts", PATIENCE, || {
            let failed = race.failed_pulls().map_err(|error| error.to_string())?;
            let refused = |pod: &&Pod<'_>| failed.iter().any(|(name, _)| name == pod.name);
            let others: Vec<_> = may_not.iter().filter(|pod| !refused(pod)).collect();
            let ready =
                others.iter().filter(|pod| race.wait_ready(&[***pod], Duration::ZERO).is_ok()).count();
            if ready == others.len() {
                Ok(ready)
            } else {
                Err(format!("{} are neither", others.len() - ready))
            }
        })?;
        let of_others = |name: &str| may_not.iter().any(|pod| pod.name == name);
        failed += race.failed_pulls()?.iter().filter(|(pod, _)| !of_others(pod)).count();
        scene.record(&race)?;
        race.delete_pods()?;
    }
    scenario.figure(format!(
        "{} pulls with and {0} without a credential at once: {failed} of the former failed, {started} of the latter \
         started",
        RACES * RACERS
    ));
    if scenario.node().runtime() == Runtime::ContainerdWithImages {
        assert_eq!((failed, started), (0, 0));
    }
    Ok(())
}
