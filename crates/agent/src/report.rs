//! What the agent says about its node: the status of its `NodeState`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use pullwright_api::{NodeState, NodeStateStatus, condition};
use serde_json::{Value, json};

/// The field manager of the status, and the first word of the agent's user agent.
pub const AGENT: &str = "pullwright-agent";
/// What fits into a condition with room to spare.
const LONGEST: usize = 8_000;

/// What became of what a node was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The generation of the `NodeState` that this is about.
    pub generation: i64,
    /// What the node has.
    pub configuration: Option<String>,
    /// How it stands with what it should have.
    pub progress: Progress,
    /// What is wrong with the plugin on the node.
    pub plugin: Option<String>,
}

/// How it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The node has it.
    Applied,
    /// The node is getting it.
    Progressing,
    /// It did not work, and the node has what it had before. It is not tried again.
    RolledBack(String),
    /// It could not be brought. It is tried again.
    Failed(String),
    /// It did not work, and going back did not either. That is tried again.
    NotUndone(String),
}

impl Progress {
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Applied => condition::APPLIED,
            Self::Progressing => condition::PROGRESSING,
            Self::RolledBack(_) => condition::ROLLED_BACK,
            Self::Failed(_) => condition::FAILED,
            Self::NotUndone(_) => condition::NOT_UNDONE,
        }
    }

    fn message(&self) -> &str {
        match self {
            Self::Applied | Self::Progressing => "",
            Self::RolledBack(why) | Self::Failed(why) | Self::NotUndone(why) => {
                why.get(..why.floor_char_boundary(LONGEST)).unwrap_or_default()
            }
        }
    }
}

impl Report {
    /// The status as it should be, beside what is there now.
    #[must_use]
    pub fn status(&self, now: Timestamp, present: Option<&NodeStateStatus>) -> NodeStateStatus {
        let ready = if self.progress == Progress::Applied { "True" } else { "False" };
        let ready = (condition::READY, ready, self.progress.reason(), self.progress.message());
        let plugin = self.plugin.as_deref();
        let plugin = plugin.map(|why| (condition::PLUGIN_WORKS, "False", condition::RUNS_FAIL, why));
        let conditions = [Some(ready), plugin].into_iter().flatten();
        let condition = |(type_, status, reason, message): (&str, &str, &str, &str)| {
            let before =
                present.and_then(|present| found(present, type_)).filter(|before| before.status == status);
            Condition {
                type_: type_.to_owned(),
                status: status.to_owned(),
                reason: reason.to_owned(),
                message: message.to_owned(),
                observed_generation: Some(self.generation),
                last_transition_time: before
                    .map_or_else(|| Time(now), |before| before.last_transition_time.clone()),
            }
        };
        NodeStateStatus {
            observed_generation: Some(self.generation),
            configuration: self.configuration.clone(),
            conditions: conditions.map(condition).collect(),
        }
    }
}

/// The body of the server-side apply that says it.
#[must_use]
pub fn body(node: &str, uid: Option<&str>, status: &NodeStateStatus) -> Value {
    json!({
        "apiVersion": "pullwright.dev/v1alpha1", "kind": "NodeState",
        // The object of a node that was made again under this name is not ours.
        "metadata": {"name": node, "uid": uid},
        "status": status,
    })
}

/// Whether the node has tried what it is told now, without success. Trying again would only break it again.
#[must_use]
pub fn has_given_up(state: &NodeState) -> bool {
    let Some(status) = &state.status else { return false };
    status.observed_generation == state.metadata.generation
        && found(status, condition::READY).is_some_and(|ready| ready.reason == condition::ROLLED_BACK)
}

fn found<'a>(status: &'a NodeStateStatus, type_: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|condition| condition.type_ == type_)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(generation: i64, progress: Progress) -> Report {
        Report { generation, configuration: None, progress, plugin: None }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_condition_holds_since_its_status_changed() {
        let first = report(1, Progress::Failed("a".to_owned())).status(at(1), None);
        let second = report(2, Progress::Progressing).status(at(2), Some(&first));
        assert_eq!(second.conditions[0].last_transition_time, Time(at(1)));
        assert_eq!(second.conditions[0].reason, condition::PROGRESSING);
        let third = report(2, Progress::Applied).status(at(3), Some(&second));
        assert_eq!(third.conditions[0].last_transition_time, Time(at(3)));
        assert_eq!(third, report(2, Progress::Applied).status(at(9), Some(&third)), "nothing new to say");
    }

    #[test]
    fn only_what_was_tried_for_this_generation_is_given_up() {
        let mut state = NodeState::new("a", pullwright_api::NodeStateSpec::default());
        state.metadata.generation = Some(3);
        for (generation, progress, expected) in [
            (3, Progress::RolledBack(String::new()), true),
            (2, Progress::RolledBack(String::new()), false),
            (3, Progress::Failed(String::new()), false),
            (3, Progress::Applied, false),
        ] {
            state.status = Some(report(generation, progress).status(at(1), None));
            assert_eq!(has_given_up(&state), expected);
        }
    }

    #[test]
    fn a_long_message_is_cut_between_letters() {
        let status = report(1, Progress::Failed("ü".repeat(LONGEST))).status(at(1), None);
        assert_eq!(status.conditions[0].message.len(), LONGEST);
    }
}
