//! Roll-outs to nodes with agents: how many at a time, what stops them, and what nodes get that come and go meanwhile.

use std::collections::BTreeMap;

use pullwright_api::{NodeProgress, NodeState};
use serde_json::Value;

use crate::agents::Agents;
use crate::steps::name;
use crate::world::{Flavour, Replica, World, digest_mirror_set, eventually, provider_config};

const AT_A_TIME: [&str; 2] = ["--max-unavailable=2", "--soak=1"];

fn mirror(world: &World, mirror: &str) {
    world.apply_object(&digest_mirror_set("vendor", "quay.io", &[mirror]));
}

impl World {
    /// Waits for the configuration of CRI-O with this mirror, and returns its name.
    fn configuration(&self, mirror: &str) -> String {
        let of_crio = |found: &&Value| name(found).starts_with("crio-") && found.to_string().contains(mirror);
        let found = self.wait_for_configurations(mirror, |found| found.iter().any(|one| of_crio(&one)));
        name(found.iter().find(of_crio).unwrap()).to_owned()
    }

    fn states(&self) -> BTreeMap<String, NodeState> {
        let states = self.list("nodestates").into_iter();
        states.map(|state| (name(&state).to_owned(), serde_json::from_value(state).unwrap())).collect()
    }

    /// Waits until these nodes of CRI-O have this configuration.
    fn wait_until_rolled_out(&self, nodes: &[&str], configuration: &str) {
        eventually(&format!("{configuration} to be rolled out"), || {
            let states = self.states();
            let has = |node: &&&str| {
                let state = states.get(**node);
                state.is_some_and(|state| {
                    state.progress() == NodeProgress::Done
                        && state.spec.configuration.as_deref() == Some(configuration)
                })
            };
            match nodes.iter().find(|node| !has(node)) {
                None => Ok(()),
                Some(node) => Err(format!("{node} has not: {:?}", states.get(*node))),
            }
        });
    }

    /// The nodes that were told to have this.
    fn told(&self, configuration: &str) -> Vec<String> {
        let told = |state: &NodeState| state.spec.configuration.as_deref() == Some(configuration);
        self.states().into_iter().filter(|(_, state)| told(state)).map(|(node, _)| node).collect()
    }

    fn uid(&self, node: &str) -> String {
        let uid = ["get", "node", node, "--output=jsonpath={.metadata.uid}"];
        self.kubectl(&uid)
    }
}

/// Kills the operator a few times while something is rolled out.
fn kill_meanwhile(replica: &Replica, agents: &Agents, from: usize) {
    for kill in 1..=3 {
        eventually("the roll-out to go on", || {
            let versions = agents.versions().len();
            if versions >= from + 4 * kill { Ok(()) } else { Err(format!("{versions} versions")) }
        });
        replica.process.kill().unwrap();
    }
}

/// For each node, the configurations that it was told to have, without repetitions.
fn told_in_order(agents: &Agents, from: usize) -> BTreeMap<String, Vec<String>> {
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for version in agents.versions().into_iter().skip(from) {
        let Some(wanted) = version.object.and_then(|object| object.spec.configuration) else { continue };
        let told = told.entry(version.node).or_default();
        if told.last() != Some(&wanted) {
            told.push(wanted);
        }
    }
    told
}

/// How many nodes had this configuration when the second node was told to have it.
fn done_before_the_second(agents: &Agents, configuration: &str) -> usize {
    let mut states: BTreeMap<String, NodeState> = BTreeMap::new();
    for version in agents.versions() {
        let Some(object) = version.object else { continue };
        states.insert(version.node, object);
        let told = |state: &&NodeState| state.spec.configuration.as_deref() == Some(configuration);
        if states.values().filter(told).count() == 2 {
            let done = |state: &&NodeState| state.progress() == NodeProgress::Done;
            return states.values().filter(told).filter(done).count();
        }
    }
    panic!("{configuration} was never told to two nodes");
}

#[test]
fn never_too_many_at_once_also_at_first_and_if_the_operator_is_killed() {
    let world = World::new("rollout_pace", Flavour::Plain);
    let (crio, containerd) = (["a", "b", "c", "d", "e"], ["k", "l"]);
    world.nodes(&crio, "cri-o://1.36.3", "");
    world.nodes(&containerd, "containerd://2.1.4", "");
    world.kubectl(&["cordon", "b"]);
    let agents = Agents::start(&world);
    agents.come_to(&world, &[&crio[..], &containerd[..]].concat());
    let lease = "--lease=5";
    let replica = world.start("one", &[AT_A_TIME[0], AT_A_TIME[1], lease]);
    mirror(&world, "mirror.local/first");
    let first = world.configuration("mirror.local/first");
    world.wait_until_rolled_out(&crio, &first);
    assert_eq!(agents.most_in_flight(0), 2, "both places are used, and no more");
    assert_eq!(done_before_the_second(&agents, &first), 1, "nobody follows before the canary has it");

    let from = agents.versions().len();
    mirror(&world, "mirror.local/second");
    let second = world.configuration("mirror.local/second");
    kill_meanwhile(&replica, &agents, from);
    world.wait_until_rolled_out(&crio, &second);
    assert!(agents.most_in_flight(from) <= 2, "{}", agents.most_in_flight(from));
    assert_eq!(done_before_the_second(&agents, &second), 1);
    for (node, told) in told_in_order(&agents, from) {
        assert!(told.len() <= 2, "{node} was told {told:?}");
    }
    // The objects that no node has or needs any more are gone: one is left for each runtime.
    world.wait_for_configurations("only the second of each", |found| found.len() == 2);
    eventually("both runtimes to be done", || {
        let waiting = world.states().into_values().find(|state| state.progress() != NodeProgress::Done);
        waiting.map_or(Ok(()), |state| Err(format!("{state:?}")))
    });
    let states = world.states();
    assert_eq!(states.len(), 7, "one object for each node");
    for node in ["a", "k"] {
        let owner = &states[node].metadata.owner_references.as_ref().unwrap()[0];
        assert_eq!((&*owner.kind, &*owner.name, &owner.uid), ("Node", node, &world.uid(node)));
    }
    let cordoned = world.kubectl(&["get", "node", "b", "--output=jsonpath={.spec.unschedulable}"]);
    assert_eq!(cordoned, "true", "a cordoned node gets it and stays cordoned");
    // At rest, nothing is written.
    let mark = world.mark();
    assert!(world.writes_until_rest(mark).is_empty());
}

#[test]
fn a_canary_that_fails_stops_the_wave_until_the_configuration_is_withdrawn() {
    let world = World::new("rollout_canary", Flavour::Plain);
    let nodes = ["a", "b", "c", "d"];
    world.nodes(&nodes, "cri-o://1.36.3", "");
    let agents = Agents::start(&world);
    agents.come_to(&world, &nodes);
    let _replica = world.start("one", &AT_A_TIME);
    world.apply_object(&provider_config(&["quay.io"]));
    mirror(&world, "mirror.local/good");
    let good = world.configuration("mirror.local/good");
    world.wait_until_rolled_out(&nodes, &good);
    world.wait_for_provider("NodesUpdated", "True", "AllNodes");

    agents.take_only(Some(&[&good]));
    let from = agents.versions().len();
    mirror(&world, "mirror.local/bad");
    let bad = world.configuration("mirror.local/bad");
    let message = world.wait_for_provider("NodesUpdated", "False", "NodesFailed");
    let told = world.told(&bad);
    let [canary] = told.as_slice() else { panic!("{told:?}") };
    let expected = format!(
        "0 of 4 nodes have it, and 1 could not take it, so no other node gets it: {canary} (RolledBack)"
    );
    assert_eq!(message, expected);
    // A node that joins now gets what works.
    world.nodes(&["late"], "cri-o://1.36.3", "");
    agents.come_to(&world, &["late"]);
    world.wait_until_rolled_out(&["late"], &good);
    world.writes_until_rest(world.mark());
    assert_eq!(world.told(&bad), std::slice::from_ref(canary), "nobody follows a canary that failed");

    // What worked is wanted again.
    mirror(&world, "mirror.local/good");
    world.wait_until_rolled_out(&[&nodes[..], &["late"]].concat(), &good);
    world.wait_for_provider("NodesUpdated", "True", "AllNodes");
    for (node, told) in told_in_order(&agents, from) {
        let expected = if node == *canary { vec![bad.clone(), good.clone()] } else { vec![good.clone()] };
        assert_eq!(told, expected, "{node}");
    }
    // And then something better.
    agents.take_only(None);
    mirror(&world, "mirror.local/better");
    let better = world.configuration("mirror.local/better");
    world.wait_until_rolled_out(&[&nodes[..], &["late"]].concat(), &better);
    assert!(agents.most_in_flight(0) <= 2);
    // Nothing is left to do on the nodes: they get their own files back, in the same way.
    let from = agents.versions().len();
    world.delete("imagedigestmirrorset", "vendor");
    world.delete("criocredentialproviderconfig", "cluster");
    world.wait_for_configurations("none", <[Value]>::is_empty);
    assert!(agents.most_in_flight(from) <= 2);
    let states = world.states();
    assert_eq!(states.len(), 5);
    assert!(states.values().all(|state| state.spec.configuration.is_none()), "{states:?}");
}

#[test]
fn a_node_that_goes_frees_its_place_and_one_made_anew_is_another() {
    let world = World::new("rollout_deleted", Flavour::Plain);
    let nodes = ["a", "b", "c"];
    world.nodes(&nodes, "cri-o://1.36.3", "");
    let agents = Agents::start(&world);
    agents.come_to(&world, &nodes);
    agents.silence(&nodes);
    let _replica = world.start("one", &["--max-unavailable=1", "--soak=0"]);
    mirror(&world, "mirror.local/first");
    let first = world.configuration("mirror.local/first");
    let canary = || {
        eventually("a canary", || match world.told(&first).as_slice() {
            [one] => Ok(one.clone()),
            other => Err(format!("{other:?}")),
        })
    };
    let gone = canary();
    world.writes_until_rest(world.mark());
    assert_eq!(world.told(&first).len(), 1, "its agent is silent, so it keeps its place");

    agents.leave(&world, &gone);
    world.delete("node", &gone);
    // Without a garbage collector, which this cluster does not have.
    eventually("its object to go", || {
        if world.get("nodestate", &gone).is_none() { Ok(()) } else { Err("it is there") }
    });
    let next = canary();
    assert_ne!(next, gone, "another node has the place");
    let before = world.states()[&next].metadata.uid.clone();

    // The next one is made anew so quickly that its object is still there.
    agents.leave(&world, &next);
    world.delete("node", &next);
    world.nodes(&[&next], "cri-o://1.36.3", "");
    agents.silence(&[]);
    let rest: Vec<&str> = nodes.into_iter().filter(|node| *node != gone).collect();
    agents.come_to(&world, &[&next]);
    world.wait_until_rolled_out(&rest, &first);
    let state = &world.states()[&next];
    assert_ne!(state.metadata.uid, before, "it has an object of its own");
    assert_eq!(state.metadata.owner_references.as_ref().unwrap()[0].uid, world.uid(&next));
    assert_eq!(agents.most_in_flight(0), 1);
}
