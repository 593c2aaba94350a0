//! Whatever dies or is given up, no credential stays, and no file is ever seen half written.

use std::{fs, time::Duration};

use pullwright_testkit::{
    Error,
    node::MIRROR_LOGIN,
    process::wait_until,
    registry::Login,
    scenario::{self, AuthEvent, Change, PATIENCE, Pod, Scenario},
};

use crate::{Outcome, PLUGIN};

/// How long files may stay, as the node's plugin is told, and the sweeper's share.
const UNCLAIMED: Duration = Duration::from_secs(10 + 2);
pub(crate) const IN_USE: Duration = Duration::from_secs(20 + 2);
/// What a plugin was writing when it died stays longest.
pub(crate) const TEMPORARY: Duration = Duration::from_secs(60 + 2);

/// The kubelet runs the plugin before it looks at the back-off: files are written that nobody will take.
pub(crate) fn back_off(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/left:1")?;
    scenario.give_login("mirror", Login { password: "wrong", ..MIRROR_LOGIN })?;
    scenario::after_back_off(scenario, "docker.io/library/left:1", Duration::ZERO)?;
    nothing_stays(scenario, UNCLAIMED)?;
    let swept = |event: &AuthEvent| event.change == Change::Removed && !event.file.starts_with("in-use/");
    let swept = scenario.auth_events()?.into_iter().filter(swept).count();
    assert_ne!(swept, 0, "nothing was left to be swept: the kubelet has changed its ways");
    Ok(())
}

/// The Pods are deleted while their files wait to be taken.
pub(crate) fn deleted_pods(scenario: &mut Scenario<'_>) -> Outcome {
    scenario.node().push("mirror", "library/deleted:1")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let names: Vec<_> = (0..20).map(|number| format!("deleted-{number}")).collect();
    let pods: Vec<_> = names.iter().map(|name| Pod::new(name, &["docker.io/library/deleted:1"])).collect();
    scenario.run_pods(&pods)?;
    wait_until("a file is handed over", PATIENCE, || {
        let events = scenario.auth_events().map_err(|error| error.to_string())?;
        let put = events.iter().any(|event| event.change == Change::MovedHere);
        if put { Ok(()) } else { Err(format!("{events:?}")) }
    })?;
    scenario.delete_pods()?;
    nothing_stays(scenario, UNCLAIMED)
}

/// Kills the plugin at a random moment of each run, for as long as the kubelet tries.
pub(crate) fn kill_plugins(scenario: &mut Scenario<'_>) -> Outcome {
    let node = scenario.node();
    node.push("mirror", "library/killed:1")?;
    scenario.give_login("mirror", MIRROR_LOGIN)?;
    let script = node.root().join("killer.sh");
    fs::write(&script, format!("{KILLER} {PLUGIN} \"$@\"\n"))?;
    node.install_plugin(&script)?;

    let names: Vec<_> = (0..30).map(|number| format!("killed-{number}")).collect();
    let pods: Vec<_> = names.iter().map(|name| Pod::new(name, &["docker.io/library/killed:1"])).collect();
    scenario.run_pods(&pods)?;
    let killed = || node.log("kubelet").text().matches("library/killed: exit status 137").count();
    wait_until("the plugin is killed often enough", PATIENCE, || match killed() {
        60.. => Ok(()),
        few => Err(format!("{few} times")),
    })?;
    let ready = pods.iter().filter(|pod| scenario.wait_ready(&[**pod], Duration::ZERO).is_ok()).count();
    scenario.figure(format!("{} runs killed, {ready} of {} Pods Ready all the same", killed(), pods.len()));
    node.install_plugin(PLUGIN.as_ref())?;
    Ok(scenario.delete_pods()?)
}

/// `timeout` kills its child only, as the kubelet would, after 1 to 60 ms.
const KILLER: &str = "#!/bin/sh
exec timeout --foreground --signal KILL \"0.$(printf %03d \"$(shuf -i 1-60 -n 1)\")\"";

/// No credential is left after the longest bound, nor a process that waits for it, and every file came whole.
pub(crate) fn nothing_stays(scenario: &mut Scenario<'_>, bound: Duration) -> Outcome {
    no_credential(scenario, bound)?;
    wait_until("the sweeper has ended", Duration::from_secs(15), || {
        let found = sweepers(scenario).map_err(|error| error.to_string())?;
        if found.is_empty() { Ok(()) } else { Err(found) }
    })?;
    let written_in_place: Vec<_> = scenario
        .auth_events()?
        .into_iter()
        .filter(|event| !event.file.trim_start_matches("tickets/").starts_with('.'))
        .filter(|event| matches!(event.change, Change::Created | Change::Written))
        .collect();
    assert_eq!(written_in_place, []);
    Ok(())
}

pub(crate) fn no_credential(scenario: &Scenario<'_>, within: Duration) -> Outcome {
    Ok(wait_until("no credential is left", within, || {
        let lying = scenario.credentials_lying_about().map_err(|error| error.to_string())?;
        if lying.is_empty() { Ok(()) } else { Err(lying.join(", ")) }
    })?)
}

/// The sweepers on the node, as they name themselves; one line each.
fn sweepers(scenario: &Scenario<'_>) -> Result<String, Error> {
    let find = "grep --files-with-matches --line-regexp auth-sweeper /proc/[0-9]*/comm || true";
    scenario.node().place().run("sh", &["-c", find])
}
