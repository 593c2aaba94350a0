//! Faults that the Go plugin is known to have. A test that cannot see these would see nothing in ours either.

use std::{error::Error, time::Duration};

use pullwright_testkit::{
    node::MIRROR_LOGIN,
    registry::Login,
    scenario::{self, Scenario},
};

type Outcome = Result<(), Box<dyn Error>>;

/// It lets the kubelet remember its answer for the whole registry: the second image's credentials are never handed over.
pub(crate) fn two_images(scenario: &mut Scenario<'_>) -> Outcome {
    for image in ["library/one:1", "library/two:1"] {
        scenario.node().push("mirror", image)?;
    }
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let pulls =
        scenario::two_images_in_one_pod(scenario, ["docker.io/library/one:1", "docker.io/library/two:1"])?;
    scenario.figure(&pulls);
    assert!(!pulls.failed.is_empty());
    Ok(())
}

/// Its file for a second Pod replaces the one for the first before that is taken.
pub(crate) fn burst(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/burst:1")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let pulls = scenario::burst(scenario, "docker.io/library/burst:1", 20)?;
    scenario.figure(format!("20 Pods: {pulls}"));
    assert!(!pulls.failed.is_empty());
    Ok(())
}

/// It tells the kubelet of no credentials, which then holds the image for public.
pub(crate) fn second_namespace(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/private:1")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let refused = scenario::second_namespace(scenario, "docker.io/library/private:1")?;
    assert_eq!(refused, None);
    scenario.figure("another namespace, without a Secret, runs the private image");
    Ok(())
}

/// It removes nothing: what it wrote for a pull that never came stays.
pub(crate) fn left_credentials(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/left:1")?;
    scenario.give_login("mirror", Login { password: "wrong", ..MIRROR_LOGIN })?;
    let left = scenario::after_back_off(scenario, "docker.io/library/left:1", Duration::from_secs(10))?;
    scenario.figure(format!("10 s after the Pod is gone: {left:?}"));
    assert!(left.iter().any(|file| file.starts_with("back-off-")));
    Ok(())
}
