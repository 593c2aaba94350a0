//! Pacing in small clusters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pullwright_api::NodeRuntime;
use tokio::time::Instant;

use super::{
    MaxUnavailable, NodeStates, ObservedState, Pace, Progress, Proof, Revision, RolloutNode, RolloutPlan,
    RolloutPolicy, RolloutStage, SHOWN_WITHIN, had_by_all,
};
use crate::nodes::{NodeFacts, NodeStateFacts};
use crate::provider_config::Platform;

fn plan(
    policy: &RolloutPolicy,
    revisions: &BTreeMap<NodeRuntime, Revision>,
    nodes: &[RolloutNode],
) -> RolloutPlan {
    super::plan(policy, revisions, nodes, 0)
}

fn node(name: &str, desired: Option<&str>, actual: Option<&str>) -> RolloutNode {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let progress = if desired == actual { Progress::Done } else { Progress::InFlight };
    let state = ObservedState { desired: owned(desired), actual: owned(actual), progress };
    RolloutNode {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        zone: String::new(),
        runtime: NodeRuntime::Crio,
        ready: true,
        cordoned: false,
        state: Some(state),
    }
}

fn fresh(name: &str) -> RolloutNode {
    RolloutNode { state: None, ..node(name, None, None) }
}

fn failed(name: &str, desired: &str, actual: &str) -> RolloutNode {
    let mut node = node(name, Some(desired), Some(actual));
    node.state.as_mut().unwrap().progress = Progress::Failed("RolledBack".to_owned());
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
fn a_failure_with_what_the_node_has_is_a_failure_too() {
    let nodes = [failed("a", "new", "new"), node("b", Some("old"), Some("old"))];
    let plan = plan(&TWO, &revision("new", Proof::CanariesDid, None), &nodes);
    assert_eq!(plan.stages[&NodeRuntime::Crio], RolloutStage::Stopped(vec!["a".to_owned()]));
    assert_eq!(told(&plan), []);
}

#[test]
fn a_cordoned_node_gets_it_last_and_tries_only_if_there_is_no_other() {
    let cordoned = |name: &str| RolloutNode { cordoned: true, ..node(name, Some("old"), Some("old")) };
    let new = revision("new", Proof::New, Some("old"));
    for name in 0..20 {
        let nodes = [cordoned(&format!("c{name}")), node("b", Some("old"), Some("old"))];
        assert_eq!(told(&plan(&ONE, &new, &nodes)), [("b", Some("new"))]);
    }
    assert_eq!(told(&plan(&ONE, &new, &[cordoned("c")])), [("c", Some("new"))]);
}

fn facts(name: &str, uid: &str) -> Arc<NodeFacts> {
    Arc::new(NodeFacts {
        name: name.to_owned(),
        uid: uid.to_owned(),
        runtime: Some(NodeRuntime::Crio),
        platform: Platform::Other,
        zone: String::new(),
        ready: true,
        cordoned: false,
    })
}

fn object(name: &str, node: &str, generation: i64, progress: Progress) -> NodeStates {
    let (name, node) = (name.to_owned(), node.to_owned());
    let desired = Some("old".to_owned());
    let state = NodeStateFacts {
        name: name.clone(),
        node,
        generation,
        progress,
        desired,
        ..NodeStateFacts::default()
    };
    NodeStates::from([(name, Arc::new(state))])
}

#[test]
fn what_the_watch_does_not_show_yet_counts_until_it_does() {
    let now = Instant::now();
    let mut pace = Pace::default();
    pace.tell("uid-a", Some("new".to_owned()), 3, now);
    let node = [facts("a", "uid-a")];
    let old = object("a", "uid-a", 2, Progress::Done);
    let told = pace.observe(&node, &old).nodes.remove(0).state.unwrap();
    assert_eq!((told.desired.as_deref(), told.progress), (Some("new"), Progress::InFlight));
    // The watch of the Nodes may be the one that is late.
    let paced = pace.observe(&[], &old);
    assert_eq!((paced.nodes.len(), paced.elsewhere), (0, 1));
    // It was told to the Node, not to another one of its name.
    let empty = NodeStates::new();
    let paced = pace.observe(&[facts("a", "uid-b")], &empty);
    assert_eq!((paced.nodes[0].state.clone(), paced.elsewhere), (None, 1));
    assert!(pace.waits() && !pace.is_overdue(now) && pace.is_overdue(now + SHOWN_WITHIN));
    let shown = pace.observe(&node, &object("a", "uid-a", 3, Progress::Done)).nodes.remove(0);
    assert!(!shown.in_flight() && !pace.waits());
}

#[test]
fn an_object_that_outlived_its_node_keeps_its_place_until_it_is_gone() {
    let mut pace = Pace::default();
    let mut look = |node: &[Arc<NodeFacts>], progress: Progress| {
        let states = object("a", "uid-a", 1, progress);
        let paced = pace.observe(node, &states);
        let in_flight = paced.nodes.iter().filter(|node| node.in_flight()).count();
        (in_flight, paced.elsewhere, paced.outlived.len())
    };
    let (itself, anew) = (facts("a", "uid-a"), facts("a", "uid-b"));
    assert_eq!(look(std::slice::from_ref(&itself), Progress::InFlight), (1, 0, 0));
    assert_eq!(look(&[], Progress::InFlight), (0, 1, 1));
    assert_eq!(look(&[], Progress::Done), (0, 0, 0), "the garbage collector is soon enough");
    assert_eq!(look(std::slice::from_ref(&anew), Progress::InFlight), (1, 0, 1));
    assert_eq!(look(&[anew], Progress::Done), (1, 0, 1), "it is not what the new Node says");
    let waves = revision("new", Proof::CanariesDid, None);
    let others = [node("b", Some("old"), Some("old"))];
    assert_eq!(told(&super::plan(&ONE, &waves, &others, 1)), []);
    assert_eq!(told(&super::plan(&TWO, &waves, &others, 1)), [("b", Some("new"))]);
}

#[test]
fn canaries_have_to_be_well_for_a_while_without_a_break() {
    let (now, soak) = (Instant::now(), Duration::from_mins(1));
    let at = |seconds| now + Duration::from_secs(seconds);
    let well = node("a", Some("new"), Some("new"));
    let sick = RolloutNode { ready: false, ..well.clone() };
    let new = revision("new", Proof::New, None).remove(&NodeRuntime::Crio).unwrap();
    let mut pace = Pace::default();
    let mut proof = |node: &RolloutNode, now| {
        pace.proof(&ONE, soak, NodeRuntime::Crio, &new, std::slice::from_ref(node), now)
    };
    assert_eq!(proof(&well, at(0)), (Proof::New, Some(soak)));
    assert_eq!(proof(&well, at(59)), (Proof::New, Some(Duration::from_secs(1))));
    assert_eq!(proof(&well, at(60)), (Proof::CanariesDid, None));
    assert_eq!(proof(&sick, at(61)), (Proof::New, None));
    assert_eq!(proof(&well, at(62)), (Proof::New, Some(soak)));
}

#[test]
fn a_node_that_has_not_noted_what_it_was_told_is_in_flight() {
    let mut told_back = node("a", Some("old"), Some("old"));
    told_back.state.as_mut().unwrap().progress = Progress::InFlight;
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
fn what_all_nodes_have_is_known_whatever_is_wanted() {
    let of = |nodes: &[RolloutNode]| had_by_all(nodes, NodeRuntime::Crio).map(str::to_owned);
    let old = |name: &str| node(name, Some("old"), Some("old"));
    let other = RolloutNode { runtime: NodeRuntime::K3s, ..node("k", Some("k3s"), Some("k3s")) };
    assert_eq!(of(&[old("a"), old("b"), other]).as_deref(), Some("old"));
    assert_eq!(of(&[old("a"), node("b", Some("new"), Some("old"))]), None);
    assert_eq!(of(&[old("a"), fresh("b")]), None);
    assert_eq!(of(&[old("a"), failed("b", "old", "old")]), None);
    assert_eq!(of(&[]), None);
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
