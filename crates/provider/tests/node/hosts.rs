//! Each host of a pull sees its own credential and no other.

use std::{collections::BTreeSet, error::Error};

use pullwright_testkit::{
    node::MIRROR_LOGIN,
    registry::{Login, users_shown},
    scenario::{PATIENCE, Pod, Scenario},
};

use crate::{GLOBAL_LOGIN, Outcome, SHARED_LOGIN, canary, served};

/// The first of two mirrors, each with a login of its own, takes no connections.
pub(crate) fn first_down(scenario: &mut Scenario<'_>) -> Outcome {
    let mirror = scenario.node().registry("mirror")?;
    scenario.node().push("fallback", "library/first-down:1")?;
    give_logins(scenario, MIRROR_LOGIN)?;
    mirror.stop();
    let pulled = second_serves(scenario);
    mirror.start()?;
    pulled
}

/// The first has the image and does not take the namespace's password.
pub(crate) fn first_wrong(scenario: &mut Scenario<'_>) -> Outcome {
    for registry in ["mirror", "fallback"] {
        scenario.node().push(registry, "library/first-wrong:1")?;
    }
    give_logins(scenario, Login { password: "wrong", ..MIRROR_LOGIN })?;
    second_serves(scenario)?;
    assert_eq!(shown(scenario, "mirror")?, BTreeSet::from([MIRROR_LOGIN.user.to_owned()]));
    Ok(())
}

/// Neither mirror has the image, so that `docker.io` itself is asked; it would like a login too.
pub(crate) fn last_resort(scenario: &mut Scenario<'_>) -> Outcome {
    give_logins(scenario, MIRROR_LOGIN)?;
    scenario.run_pods(&[Pod::new("test-pod", &["docker.io/library/last-resort:1"])])?;
    scenario.wait_failed_pull("test-pod")?;
    for (registry, user) in [("mirror", MIRROR_LOGIN.user), ("fallback", GLOBAL_LOGIN.user)] {
        assert_eq!(shown(scenario, registry)?, BTreeSet::from([user.to_owned()]), "{registry}");
    }
    let hub = scenario.registry_log("hub")?;
    assert!(hub.iter().any(|line| line.contains("authorizing request") && line.contains("last-resort")));
    assert_eq!(shown(scenario, "hub")?, BTreeSet::new());
    Ok(())
}

/// What all scenarios before this one have shown to the registries, and the tests themselves by pushing.
pub(crate) fn shown_in_all_scenarios(scenario: &mut Scenario<'_>) -> Outcome {
    let known: [(&str, &[&str]); 4] = [
        ("mirror", &[MIRROR_LOGIN.user, SHARED_LOGIN.user, canary::LOGIN.user, canary::STRANGER.user]),
        ("source", &[SHARED_LOGIN.user]),
        ("fallback", &[GLOBAL_LOGIN.user, SHARED_LOGIN.user]),
        ("hub", &[]),
    ];
    for (registry, own) in known {
        let log = scenario.node().registry(registry)?.log().text();
        let others: Vec<_> =
            users_shown(&log).into_iter().filter(|user| !own.contains(&user.as_str())).collect();
        assert_eq!(others, Vec::<String>::new(), "{registry}");
    }
    Ok(())
}

/// Two Secrets: `login` for the first mirror, and the right one for the second.
fn give_logins(scenario: &Scenario<'_>, login: Login) -> Outcome {
    scenario.give_login("mirror", login)?;
    Ok(scenario.give_login("fallback", GLOBAL_LOGIN)?)
}

fn second_serves(scenario: &mut Scenario<'_>) -> Outcome {
    let repository = format!("library/{}", scenario.namespace());
    let images = [format!("docker.io/{repository}:1")];
    let images = images.each_ref().map(String::as_str);
    let pod = Pod::new("test-pod", &images);
    scenario.run_pods(&[pod])?;
    let took = scenario.wait_ready(&[pod], PATIENCE)?;
    scenario.figure(format!("Ready {:.1} s after apply", took.as_secs_f64()));
    assert!(served(scenario, "fallback", &repository)?);
    assert_eq!(scenario.failed_pulls()?, []);
    assert_eq!(shown(scenario, "fallback")?, BTreeSet::from([GLOBAL_LOGIN.user.to_owned()]));
    assert_eq!(shown(scenario, "hub")?, BTreeSet::new());
    Ok(())
}

/// The users that a registry was shown since the scenario began, whether it knew them or not.
fn shown(scenario: &Scenario<'_>, registry: &str) -> Result<BTreeSet<String>, Box<dyn Error>> {
    Ok(users_shown(&scenario.registry_log(registry)?.join("\n")))
}
