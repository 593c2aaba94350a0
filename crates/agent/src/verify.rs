//! Judges whether the kubelet works after a restart, from what was seen of it. No I/O and no clock: the caller collects evidence again
//! and again, and rolls back when the kubelet is broken or its own time limit is over.

/// How often the kubelet may exit after its restart. More than this, and it will exit again.
const RESTARTS_MAX: u32 = 2;

/// What was seen, in one go: the unit first, so that answers are from the process that the unit has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// What systemd says of the kubelet's unit.
    pub unit: Unit,
    /// Its health check.
    pub healthz: Healthz,
    /// What the API server says of the node; none if the API server is unreachable.
    pub node: Option<Node>,
    /// The credential provider configuration that it runs with.
    pub hash: Hash,
}

/// What systemd says of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four facts that do not depend on each other")]
pub struct Unit {
    /// Whether it is active.
    pub active: bool,
    /// Whether systemd has given up on it.
    pub failed: bool,
    /// Whether it has another invocation ID than before the restart.
    pub invocation_changed: bool,
    /// How often systemd has started it again since the restart.
    pub restarts: u32,
    /// Whether it has run without an exit for as long as the caller wants to see.
    pub steady: bool,
}

/// The kubelet's health check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Healthz {
    /// It answered: whether it is well.
    Answered(bool),
    /// It did not.
    Unreachable,
    /// The kubelet's configuration switches it off.
    Off,
}

/// What the API server says of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Whether its condition `Ready` is `True`.
    pub ready: bool,
    /// Whether the kubelet reported that after the restart, by this node's clock.
    pub since_restart: bool,
}

/// The credential provider configuration that the kubelet runs with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hash {
    /// The one that it should have.
    Matches,
    /// Another one.
    Differs,
    /// The kubelet shows none.
    Absent {
        /// Its version is below 1.34, and such kubelets never show one.
        too_old: bool,
    },
    /// It could not be asked, and why.
    Unreachable(String),
    /// It should have none, or nobody wants to know.
    NotExpected,
}

/// Whether the kubelet works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It works: commit.
    Works,
    /// Nobody knows yet: look again.
    NotYet {
        /// Who has to do something.
        waits_for: Waits,
        /// What is missing.
        why: String,
    },
    /// It does not work, and waiting does not help: roll back.
    Broken(String),
}

/// Who has to do something until there is a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// The kubelet. The caller's time limit runs.
    Kubelet,
    /// The API server. The caller's time limit stands still: the kubelet lives, so this is no reason to roll back.
    ApiServer,
}

/// Judges.
#[must_use]
pub fn judge(evidence: &Evidence) -> Verdict {
    let Evidence { unit, healthz, node, hash } = evidence;
    let kubelet = |why: &str| Verdict::NotYet { waits_for: Waits::Kubelet, why: why.to_owned() };
    let api_server = |why: &str| Verdict::NotYet { waits_for: Waits::ApiServer, why: why.to_owned() };
    if unit.failed {
        return Verdict::Broken("the kubelet does not start: systemd has given up on its unit".to_owned());
    }
    if unit.restarts > RESTARTS_MAX {
        return Verdict::Broken(format!("the kubelet exited {} times after its restart", unit.restarts));
    }
    if !unit.active {
        return kubelet("its unit is not active");
    }
    if !unit.invocation_changed {
        return kubelet("it has not been restarted yet");
    }
    match healthz {
        Healthz::Answered(true) | Healthz::Off => {}
        Healthz::Answered(false) => return kubelet("its health check says that it is not well"),
        Healthz::Unreachable => return kubelet("its health check does not answer"),
    }
    // It reads its configuration when it starts, so it will not have another one later.
    if *hash == Hash::Differs {
        return Verdict::Broken(
            "the kubelet runs with another credential provider configuration than the one that was written"
                .to_owned(),
        );
    }
    if !unit.steady {
        return kubelet("it has not run for long enough");
    }
    match node {
        None => return api_server("the API server does not answer"),
        Some(Node { since_restart: false, .. }) => {
            return kubelet("it has not reported the node's state yet");
        }
        Some(Node { ready: false, .. }) => return kubelet("it reports that the node is not ready"),
        Some(Node { ready: true, since_restart: true }) => {}
    }
    match hash {
        Hash::Matches | Hash::NotExpected | Hash::Absent { too_old: true } => Verdict::Works,
        Hash::Absent { too_old: false } => kubelet(
            "it does not show the hash of a credential provider configuration: does its unit use the flags?",
        ),
        Hash::Unreachable(why) => kubelet(&format!("its metrics cannot be read: {why}")),
        // Said above.
        Hash::Differs => kubelet("it runs with another configuration"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELL: Evidence = Evidence {
        unit: Unit { active: true, failed: false, invocation_changed: true, restarts: 0, steady: true },
        healthz: Healthz::Answered(true),
        node: Some(Node { ready: true, since_restart: true }),
        hash: Hash::Matches,
    };

    fn unit(change: impl FnOnce(&mut Unit)) -> Evidence {
        let mut evidence = WELL;
        change(&mut evidence.unit);
        evidence
    }

    #[track_caller]
    fn waits(evidence: &Evidence, on: Waits, why: &str) {
        let verdict = judge(evidence);
        let Verdict::NotYet { waits_for, why: said } = &verdict else { panic!("{verdict:?}") };
        assert!(*waits_for == on && said.contains(why), "{verdict:?}");
    }

    #[track_caller]
    fn broken(evidence: &Evidence, why: &str) {
        let verdict = judge(evidence);
        assert!(matches!(&verdict, Verdict::Broken(said) if said.contains(why)), "{verdict:?}");
    }

    #[test]
    fn it_works_only_if_everything_says_so() {
        assert_eq!(judge(&WELL), Verdict::Works);
        for hash in [Hash::NotExpected, Hash::Absent { too_old: true }] {
            assert_eq!(judge(&Evidence { hash: hash.clone(), ..WELL }), Verdict::Works, "{hash:?}");
        }
        assert_eq!(judge(&Evidence { healthz: Healthz::Off, ..WELL }), Verdict::Works);
        // It exited because something else was not there yet, and then stayed.
        assert_eq!(judge(&unit(|unit| unit.restarts = 2)), Verdict::Works);
    }

    #[test]
    fn what_may_still_come_is_waited_for_while_the_time_limit_runs() {
        let node = |ready, since_restart| Evidence { node: Some(Node { ready, since_restart }), ..WELL };
        for (evidence, why) in [
            (unit(|unit| unit.active = false), "not active"),
            (unit(|unit| unit.invocation_changed = false), "not been restarted"),
            (unit(|unit| unit.steady = false), "long enough"),
            (Evidence { healthz: Healthz::Unreachable, ..WELL }, "does not answer"),
            (Evidence { healthz: Healthz::Answered(false), ..WELL }, "not well"),
            (node(true, false), "not reported"),
            (node(false, false), "not reported"),
            (node(false, true), "not ready"),
            (Evidence { hash: Hash::Absent { too_old: false }, ..WELL }, "does its unit use the flags?"),
            (Evidence { hash: Hash::Unreachable("403".to_owned()), ..WELL }, "metrics cannot be read: 403"),
        ] {
            waits(&evidence, Waits::Kubelet, why);
        }
    }

    #[test]
    fn an_api_server_that_is_away_is_no_reason_to_roll_back_while_the_kubelet_lives() {
        // Nor can the kubelet then check the agent's token, so there are no metrics.
        let unreachable = Hash::Unreachable("401".to_owned());
        for hash in [Hash::Matches, unreachable, Hash::NotExpected, Hash::Absent { too_old: false }] {
            waits(&Evidence { node: None, hash, ..WELL }, Waits::ApiServer, "API server");
        }
        for evidence in [
            Evidence { healthz: Healthz::Unreachable, ..WELL },
            unit(|unit| unit.active = false),
            unit(|unit| unit.steady = false),
        ] {
            waits(&Evidence { node: None, ..evidence }, Waits::Kubelet, "");
        }
    }

    #[test]
    fn a_kubelet_that_exits_again_and_again_is_broken_at_once_also_offline() {
        for node in [None, WELL.node] {
            broken(&Evidence { node, ..unit(|unit| unit.restarts = 3) }, "exited 3 times");
            broken(&Evidence { node, ..unit(|unit| unit.failed = true) }, "given up");
            let starting = unit(|unit| (unit.active, unit.restarts) = (false, 7));
            broken(&Evidence { node, ..starting }, "exited 7 times");
        }
    }

    #[test]
    fn another_configuration_is_broken_once_it_is_the_new_process_that_says_so() {
        broken(&Evidence { hash: Hash::Differs, ..WELL }, "another credential provider configuration");
        broken(&Evidence { hash: Hash::Differs, node: None, ..WELL }, "another credential provider");
        let old = unit(|unit| unit.invocation_changed = false);
        waits(&Evidence { hash: Hash::Differs, ..old }, Waits::Kubelet, "not been restarted");
    }
}
