//! Pacing in small clusters.

use std::collections::BTreeMap;

use pullwright_api::NodeRuntime;

use super::*;

fn node(name: &str, desired: Option<&str>, actual: Option<&str>) -> RolloutNode {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let state = ObservedState { desired: owned(desired), actual: owned(actual), noted: true, failed: false };
    RolloutNode {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        zone: String::new(),
        runtime: NodeRuntime::Crio,
        ready: true,
        state: Some(state),
    }
}

fn fresh(name: &str) -> RolloutNode {
    RolloutNode { state: None, ..node(name, None, None) }
}

fn failed(name: &str, desired: &str, actual: &str) -> RolloutNode {
    let mut node = node(name, Some(desired), Some(actual));
    node.state.as_mut().unwrap().failed = true;
    node
}

fn revision(wanted: &str, proof: Proof, last_rolled_out: Option<&str>) -> BTreeMap<NodeRuntime, Revision> {
    let revision = Revision {
        wanted: Some(wanted.to_owned()),
        proof,
        last_rolled_out: last_rolled_out.map(str::to_owned),
    };
    BTreeMap::from([(NodeRuntime::Crio, revision)])
}

const ONE: RolloutPolicy = RolloutPolicy { max_unavailable: MaxUnavailable::Nodes(1), canaries: 1 };
const TWO: RolloutPolicy = RolloutPolicy { max_unavailable: MaxUnavailable::Nodes(2), canaries: 1 };

fn told(plan: &RolloutPlan) -> Vec<(&str, Option<&str>)> {
    plan.assignments.iter().map(|told| (told.node.as_str(), told.configuration.as_deref())).collect()
}

#[test]
fn one_canary_tries_first_also_at_the_first_installation() {
    let nodes = [fresh("a"), fresh("b"), fresh("c")];
    let plan = plan(&TWO, &revision("new", Proof::New, None), &nodes);
    assert_eq!(plan.assignments.len(), 1, "{plan:?}");
    assert_eq!(plan.stages[&NodeRuntime::Crio], RolloutStage::Canary);
}

#[test]
fn nobody_follows_until_the_canary_has_proved_it() {
    let nodes = [node("a", Some("new"), Some("new")), node("b", Some("old"), Some("old"))];
    let early = plan(&ONE, &revision("new", Proof::New, Some("old")), &nodes);
    assert_eq!(told(&early), []);
    let later = plan(&ONE, &revision("new", Proof::CanariesDid, Some("old")), &nodes);
    assert_eq!(told(&later), [("b", Some("new"))]);
}

#[test]
fn no_more_than_so_many_are_disturbed_and_sick_nodes_count() {
    let old = |name: &str| node(name, Some("old"), Some("old"));
    let flying = node("a", Some("new"), Some("old"));
    let waves = revision("new", Proof::CanariesDid, Some("old"));
    assert_eq!(told(&plan(&ONE, &waves, &[flying.clone(), old("b")])), []);
    assert_eq!(plan(&TWO, &waves, &[flying.clone(), old("b"), old("c")]).assignments.len(), 1);
    // A sick node takes the place of a healthy one, and can be told itself: it is disturbed already.
    let sick = RolloutNode { ready: false, ..old("s") };
    let both = plan(&TWO, &waves, &[flying, sick, old("b")]);
    assert_eq!(told(&both), [("s", Some("new"))]);
}

#[test]
fn a_failure_stops_those_who_would_follow_until_something_else_is_wanted() {
    let nodes = [failed("a", "bad", "old"), node("b", Some("old"), Some("old")), fresh("c")];
    let stopped = plan(&TWO, &revision("bad", Proof::New, Some("old")), &nodes);
    assert_eq!(stopped.stages[&NodeRuntime::Crio], RolloutStage::Stopped(vec!["a".to_owned()]));
    assert_eq!(told(&stopped), [("c", Some("old"))], "a node that joins gets what works");
    // What worked is wanted again: the node that failed is told so, which disturbs nobody.
    let withdrawn = plan(&TWO, &revision("old", Proof::RolledOut, Some("old")), &nodes[..2]);
    assert_eq!(told(&withdrawn), [("a", Some("old"))]);
    // Something newer is wanted: the one that failed tries it.
    let mended = plan(&ONE, &revision("mended", Proof::New, Some("old")), &nodes[..2]);
    assert_eq!(told(&mended), [("a", Some("mended"))]);
}

#[test]
fn a_failure_that_is_gone_lets_the_others_follow() {
    let nodes = [node("a", Some("new"), Some("new")), node("b", Some("old"), Some("old"))];
    assert_eq!(told(&plan(&ONE, &revision("new", Proof::CanariesDid, None), &nodes)), [("b", Some("new"))]);
}

#[test]
fn a_node_that_has_not_noted_what_it_was_told_is_in_flight() {
    let mut told_back = node("a", Some("old"), Some("old"));
    told_back.state.as_mut().unwrap().noted = false;
    let nodes = [told_back, node("b", Some("older"), Some("older"))];
    assert_eq!(told(&plan(&ONE, &revision("old", Proof::RolledOut, None), &nodes)), []);
}

#[test]
fn a_node_that_joins_never_tries() {
    let nodes = [node("a", Some("old"), Some("old")), fresh("b")];
    let plan = plan(&TWO, &revision("new", Proof::New, Some("old")), &nodes);
    assert_eq!(told(&plan), [("a", Some("new")), ("b", Some("old"))]);
}

#[test]
fn removing_everything_is_a_roll_out_too() {
    let mut revisions = revision("old", Proof::CanariesDid, Some("old"));
    revisions.get_mut(&NodeRuntime::Crio).unwrap().wanted = None;
    let nodes = [node("a", Some("old"), Some("old")), node("b", Some("old"), Some("old")), fresh("c")];
    let plan = plan(&ONE, &revisions, &nodes);
    assert_eq!(plan.assignments.len(), 1, "{plan:?}");
    assert_eq!(plan.assignments[0].configuration, None);
    assert_ne!(plan.assignments[0].node, "c", "it has nothing of ours");
}

#[test]
fn numbers_and_parts() {
    let of = |text: &str, nodes: usize| text.parse::<MaxUnavailable>().unwrap().of(nodes);
    assert_eq!(of("3", 100), 3);
    assert_eq!(of("10%", 3), 1, "never stuck because of rounding");
    assert_eq!(of("10%", 59), 5);
    assert_eq!(of("100%", 7), 7);
    assert_eq!(of("0", 7), 0);
    assert_eq!(of("0%", 7), 0);
    for wrong in ["", "%", "101%", "-1", "1.5", "a"] {
        assert!(wrong.parse::<MaxUnavailable>().is_err(), "{wrong}");
    }
    let paused = RolloutPolicy { max_unavailable: MaxUnavailable::Nodes(0), canaries: 1 };
    assert_eq!(told(&plan(&paused, &revision("new", Proof::RolledOut, None), &[fresh("a")])), []);
}
