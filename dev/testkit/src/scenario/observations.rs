//! How a plugin and a runtime behave in situations that are known to go wrong. Each function observes a fact about the pair;
//! the test decides what the fact should be.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{
    Error,
    process::wait_until,
    scenario::{PATIENCE, Pod, Scenario},
};

/// The result of several pulls.
#[derive(Clone, Debug)]
pub struct Pulls {
    /// The time until all Pods were Ready.
    pub ready_after: Duration,
    /// The pulls that failed before that, as (Pod, message).
    pub failed: Vec<(String, String)>,
}

impl std::fmt::Display for Pulls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} failed pulls, all Ready after {:.1} s",
            self.failed.len(),
            self.ready_after.as_secs_f64()
        )
    }
}

/// Runs `pods` at the same time until all are Ready.
fn run(scenario: &Scenario<'_>, pods: &[Pod<'_>]) -> Result<Pulls, Error> {
    let begun = Instant::now();
    scenario.run_pods(pods)?;
    scenario.wait_ready(pods, PATIENCE)?;
    Ok(Pulls { ready_after: begun.elapsed(), failed: scenario.failed_pulls()? })
}

/// Runs one Pod with two images of one registry. The kubelet needs credentials for the second while it may still have the
/// answer for the first in its cache.
pub fn two_images_in_one_pod(scenario: &Scenario<'_>, images: [&str; 2]) -> Result<Pulls, Error> {
    run(scenario, &[Pod::new("two-images", &images)])
}

/// Runs `count` Pods with the same image at once: all their credentials go through one file name.
pub fn burst(scenario: &Scenario<'_>, image: &str, count: usize) -> Result<Pulls, Error> {
    let names: Vec<_> = (0..count).map(|number| format!("burst-{number}")).collect();
    let images = [image];
    let pods: Vec<_> = names.iter().map(|name| Pod::new(name, &images)).collect();
    run(scenario, &pods)
}

/// Checks whether a namespace without credentials may run a private image that another namespace has pulled to the node:
/// returns `None` if it may, otherwise the kubelet's reason.
pub fn second_namespace(scenario: &Scenario<'_>, image: &str) -> Result<Option<String>, Error> {
    let images = [image];
    let first = Pod::new("brings-the-image", &images);
    scenario.run_pods(&[first])?;
    scenario.wait_ready(&[first], PATIENCE)?;
    let other = scenario.in_namespace(&format!("{}-other", scenario.namespace()))?;
    let second = Pod { policy: "IfNotPresent", ..Pod::new("uses-the-image", &images) };
    other.run_pods(&[second])?;
    let refused = other.wait_ready_or_failed(second, PATIENCE)?;
    other.delete_pods()?;
    Ok(refused)
}

/// Returns the credentials that are left `settled` after a Pod was deleted whose pulls had failed until the kubelet backed
/// off. The kubelet runs the plugin before it checks the back-off, so credentials are handed over that nobody will take.
pub fn after_back_off(scenario: &Scenario<'_>, image: &str, settled: Duration) -> Result<Vec<String>, Error> {
    let images = [image];
    scenario.run_pods(&[Pod::new("backs-off", &images)])?;
    wait_until("the kubelet backs off", PATIENCE, || {
        let state = scenario.describe("backs-off");
        if state.contains("ImagePullBackOff") { Ok(()) } else { Err(state) }
    })?;
    // The kubelet retries every five seconds. If nothing is handed over in two rounds, nothing can be left behind.
    let _ = wait_until("a credential is handed over", Duration::from_secs(11), || {
        let lying = scenario.credentials_lying_about().map_err(|error| error.to_string())?;
        if lying.is_empty() { Err("none".to_owned()) } else { Ok(()) }
    });
    scenario.delete_pods()?;
    thread::sleep(settled);
    scenario.credentials_lying_about()
}
