//! The state of a unit, as `systemctl show` prints it.

/// The properties in [`UnitState`].
pub(super) const PROPERTIES: [&str; 4] = ["ActiveState", "InvocationID", "MainPID", "NRestarts"];

/// The state of a unit at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitState {
    /// `active`, `inactive`, `activating`, `failed`, …
    pub active: String,
    /// Changes with every start; empty if the unit never ran.
    pub invocation_id: String,
    /// The main process in the node's own count; 0 if there is none.
    pub main_pid: u32,
    /// How often systemd started it again by itself.
    pub n_restarts: u32,
}

impl UnitState {
    /// Reads lines `Property=value`.
    pub(super) fn parse(shown: &str) -> Self {
        let value = |property: &str| {
            let mut pairs = shown.lines().filter_map(|line| line.split_once('='));
            pairs.find(|(name, _)| *name == property).map(|(_, value)| value).unwrap_or_default()
        };
        let [active, invocation, pid, restarts] = PROPERTIES.map(value);
        Self {
            active: active.to_owned(),
            invocation_id: invocation.to_owned(),
            main_pid: pid.parse().unwrap_or_default(),
            n_restarts: restarts.parse().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::UnitState;

    #[test]
    fn properties_are_found_in_any_order() {
        let state = UnitState::parse("MainPID=42\nNRestarts=1\nActiveState=active\nInvocationID=c0ffee\n");
        let expected = UnitState {
            active: "active".into(),
            invocation_id: "c0ffee".into(),
            main_pid: 42,
            n_restarts: 1,
        };
        assert_eq!(state, expected);
    }
}
