//! Pulls that are broken off in the middle: by the kubelet, or by the death of one who carries them out.

use std::{error::Error, time::Duration};

use pullwright_testkit::{
    node::{MIRROR_LOGIN, Runtime},
    process::wait_until,
    scenario::{Change, PATIENCE, Pod, Scenario, SecretKind::DockerConfigJson, entry},
    standin::{self, Fault, Login, Trouble},
};
use serde_json::json;

use crate::{
    Outcome,
    leftovers::{IN_USE, no_credential, nothing_stays},
    many,
};

/// How long a living runtime may take to see that nobody wants its pull any more.
const PROMPT: Duration = Duration::from_secs(10);
/// The port that the node's configuration knows `slow.test`'s mirror by.
const SLOW: u16 = 5004;

/// A registry that sends the beginning of an image's layers, and then keeps the client waiting.
struct Slow {
    registry: standin::Registry,
    image: String,
}

impl Slow {
    /// Starts it with an image named after the scenario, whose namespace gets a login.
    fn start(scenario: &Scenario<'_>) -> Result<Self, Box<dyn Error>> {
        let registry = standin::Registry::start(standin::Setup {
            place: scenario.node().place(),
            port: SLOW,
            login: Login::Basic,
            users: &[(MIRROR_LOGIN.user, MIRROR_LOGIN.password)],
            ..standin::Setup::default()
        })?;
        let repository = format!("library/{}", scenario.namespace());
        let layout = scenario.node().layout(&format!("{repository}:1"))?;
        registry.put_layout(&repository, "1", &layout)?;
        registry.inject(Fault::always("/blobs/", Trouble::StallAfter(100)));
        let auths = json!({registry.address(): entry(MIRROR_LOGIN)});
        scenario.add_secret("login", DockerConfigJson, &auths)?;
        scenario.allow_secrets("default")?;
        Ok(Self { registry, image: format!("slow.test/{repository}:1") })
    }

    /// Waits until somebody is in the middle of the image, and gives the credentials that lie about then: CRI-O keeps the
    /// file until the end of the pull, the image service has read and removed it.
    fn wait_entangled(&self, scenario: &Scenario<'_>) -> Result<Vec<String>, Box<dyn Error>> {
        wait_until("a pull is in the middle of the image", PATIENCE, || match self.registry.outwaited() {
            0 => Err("nobody waits".to_owned()),
            _ => Ok(()),
        })?;
        let lying = scenario.credentials_lying_about()?;
        let expected = usize::from(scenario.node().runtime() == Runtime::Crio);
        if lying.len() == expected { Ok(lying) } else { Err(format!("{lying:?} lie about").into()) }
    }

    fn wait_left(&self) -> Outcome {
        Ok(wait_until("the pull has ended", PROMPT, || match self.registry.outwaited() {
            0 => Ok(()),
            waiting => Err(format!("{waiting} connections wait")),
        })?)
    }
}

/// The Pod is deleted in the middle. The kubelet of Kubernetes 1.36 does not break off the call for that (kubernetes#113606)
/// but when it ends itself: then nobody goes on pulling, and no credential is left long before its bound.
pub(crate) fn cancelled(scenario: &mut Scenario<'_>) -> Outcome {
    let node = scenario.node();
    let slow = Slow::start(scenario)?;
    let images = [slow.image.as_str()];
    scenario.run_pods(&[Pod::new("test-pod", &images)])?;
    slow.wait_entangled(scenario)?;
    let namespace = scenario.namespace().to_owned();
    node.kubectl().run(&["delete", "pod", "test-pod", "--now", "--wait=false", "-n", &namespace])?;
    node.kill_kubelet();
    let left = slow.wait_left().and_then(|()| no_credential(scenario, PROMPT));
    node.restart_kubelet(many::WITHOUT_LIMIT)?;
    left?;
    scenario.delete_pods()?;
    nothing_stays(scenario, Duration::ZERO)
}

/// Who has taken the credential is killed, and cannot remove what there is of it.
pub(crate) fn killed_taker(scenario: &mut Scenario<'_>) -> Outcome {
    let node = scenario.node();
    let slow = Slow::start(scenario)?;
    let images = [slow.image.as_str()];
    let pod = Pod::new("test-pod", &images);
    scenario.run_pods(&[pod])?;
    let taken = slow.wait_entangled(scenario);
    node.kill_taker();
    slow.registry.mend();
    let (left, lying) = (slow.wait_left(), scenario.credentials_lying_about());
    node.start_taker()?;
    left?;
    assert_eq!(lying?, taken?, "the dead remove nothing");
    let took = scenario.wait_ready(&[pod], PATIENCE)?;
    scenario.figure(format!("Ready {:.1} s after the restart", took.as_secs_f64()));
    scenario.delete_pods()?;
    nothing_stays(scenario, IN_USE)
}

/// Twenty pulls are in containerd when it dies, one in the middle of the image. A call that hung would keep its Pod waiting
/// for ever.
pub(crate) fn killed_under_load(scenario: &mut Scenario<'_>) -> Outcome {
    let node = scenario.node();
    let slow = Slow::start(scenario)?;
    let names: Vec<_> = (0..20).map(|number| format!("load-{number}")).collect();
    let images = [slow.image.as_str()];
    let pods: Vec<_> = names.iter().map(|name| Pod::new(name, &images)).collect();
    scenario.run_pods(&pods)?;
    let all_pull = wait_until("all pulls are under way", PATIENCE, || {
        let events = scenario.auth_events().map_err(|error| error.to_string())?;
        let taken = events
            .iter()
            .filter(|event| event.change == Change::MovedHere && event.file.starts_with("in-use/"))
            .count();
        let waiting = slow.registry.outwaited();
        let all = taken == pods.len() && waiting > 0;
        if all { Ok(()) } else { Err(format!("{taken} credentials were taken, {waiting} connections wait")) }
    });
    node.kill_runtime();
    slow.registry.mend();
    node.start_runtime()?;
    all_pull?;
    let took = scenario.wait_ready(&pods, PATIENCE)?;
    let failed = scenario.failed_pulls()?.len();
    scenario.figure(format!(
        "{} Pods Ready {:.1} s after the restart, {failed} failed pulls",
        pods.len(),
        took.as_secs_f64()
    ));
    scenario.delete_pods()?;
    nothing_stays(scenario, IN_USE)
}
