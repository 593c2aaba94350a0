//! The report over plain data: what conditions, leases, configurations and pools add up to, and how it reads.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use pullwright_api::names::OPERATOR;
use pullwright_api::{NodeRuntime, NodeState, NodeStateSpec, NodeStateStatus};

use super::nodes::Delivery;
use super::objects::{
    Access, ClusterObjects, Configuration, JudgedObject, Listed, NodeVersions, OperatorLease, Pool, State,
};
use super::report::{OperatorReport, StatusReport, report};
use super::text;
use super::verdict::{Outcome, Verdict, outcome};

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn ago(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: Some(2),
        last_transition_time: Time(now()),
    }
}

fn judged(conditions: &[Condition]) -> JudgedObject {
    JudgedObject { generation: 2, conditions: conditions.to_vec() }
}

/// A state that its agent has taken note of, if there is something that it says.
fn state(wants: &str, has: &str, ready: Option<(&str, &str)>) -> State {
    let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    let mut state = NodeState::new("node", NodeStateSpec { configuration: named(wants) });
    state.metadata.generation = Some(2);
    state.status = Some(NodeStateStatus {
        observed_generation: ready.map(|_| 2),
        configuration: named(has),
        conditions: ready
            .map(|(status, reason)| condition("Ready", status, reason, "systemctl says no"))
            .into_iter()
            .collect(),
    });
    state.into()
}

fn versions(runtime: &str, kubelet: &str) -> NodeVersions {
    NodeVersions { runtime: runtime.to_owned(), kubelet: kubelet.to_owned(), ready: true }
}

fn listed<T>(objects: impl IntoIterator<Item = (String, T)>) -> Listed<T> {
    Listed { access: Access::Read, objects: objects.into_iter().collect(), ..Listed::default() }
}

fn named<T, const N: usize>(objects: [(&str, T); N]) -> Listed<T> {
    listed(objects.map(|(name, object)| (name.to_owned(), object)))
}

/// A cluster in which everything can be read, nothing exists but the operator, and there are no pools.
fn cluster() -> ClusterObjects {
    let lease = OperatorLease { holder: Some("pod-a".to_owned()), renewed: Some(ago(3)), seconds: 15 };
    ClusterObjects {
        leases: named([(OPERATOR, lease)]),
        digest_sets: named([]),
        tag_sets: named([]),
        policies: named([]),
        images: named([]),
        providers: named([]),
        configurations: named([]),
        states: named([]),
        machine_configs: Listed { access: Access::NotServed, ..Listed::default() },
        pools: Listed { access: Access::NotServed, ..Listed::default() },
        nodes: named([]),
    }
}

fn text_of(report: &StatusReport) -> String {
    let mut out = Vec::new();
    text::write(report, &mut out).unwrap();
    anstream::adapter::strip_bytes(&out).into_vec().try_into().unwrap()
}

fn said(objects: &ClusterObjects) -> String {
    text_of(&report(objects, now()))
}

#[test]
fn what_the_conditions_of_a_mirror_set_say() {
    let applied = condition("Applied", "True", "Applied", "");
    let old = Condition { observed_generation: Some(1), ..applied.clone() };
    let undated = Condition { observed_generation: None, ..applied.clone() };
    for (claim, conditions, expected) in [
        ("none", vec![], Outcome::Waiting),
        ("good", vec![applied.clone()], Outcome::Applied),
        ("of an older generation", vec![old], Outcome::Waiting),
        ("without a generation", vec![undated], Outcome::Applied),
        ("partly", vec![condition("Applied", "False", "PartlyApplied", "")], Outcome::Partly),
        ("rejected", vec![condition("Applied", "False", "Rejected", "")], Outcome::Rejected),
        ("not delivered", vec![condition("Applied", "False", "TooLarge", "")], Outcome::Failed),
        ("unknown", vec![condition("Applied", "Unknown", "ApiUnavailable", "")], Outcome::Waiting),
        ("of somebody else", vec![condition("Degraded", "False", "Rejected", "")], Outcome::Waiting),
        ("of somebody else too", vec![applied, condition("Odd", "False", "Rejected", "")], Outcome::Applied),
    ] {
        assert_eq!(outcome(&judged(&conditions), Verdict::In("Applied")).0, expected, "{claim}");
    }
}

#[test]
fn what_the_conditions_of_a_provider_configuration_say() {
    let validated = ("Validated", "True", "Succeeded");
    let rendered = ("MachineConfigRendered", "True", "MachineConfigRenderingSucceeded");
    for (claim, conditions, expected) in [
        ("only rendered", vec![rendered], Outcome::Waiting),
        ("all is well", vec![validated, rendered, ("NodesUpdated", "True", "AllNodes")], Outcome::Applied),
        ("nodes wait", vec![validated, rendered, ("NodesUpdated", "False", "RollingOut")], Outcome::Waiting),
        ("no nodes", vec![validated, rendered, ("NodesUpdated", "Unknown", "NoNodes")], Outcome::Applied),
        (
            "nodes failed",
            vec![validated, rendered, ("NodesUpdated", "False", "NodesFailed")],
            Outcome::Failed,
        ),
        (
            "not rendered",
            vec![validated, ("MachineConfigRendered", "False", "MachineConfigRenderingFailed")],
            Outcome::Failed,
        ),
        ("invalid", vec![("Validated", "False", "ValidationFailed")], Outcome::Rejected),
        (
            "a conflict, and nodes wait for the rest",
            vec![
                ("Validated", "False", "ConfigurationPartiallyApplied"),
                ("NodesUpdated", "False", "RollingOut"),
            ],
            Outcome::Partly,
        ),
    ] {
        let conditions: Vec<_> = conditions
            .into_iter()
            .map(|(type_, status, reason)| condition(type_, status, reason, ""))
            .collect();
        assert_eq!(outcome(&judged(&conditions), Verdict::In("Validated")).0, expected, "{claim}");
    }
}

#[test]
fn where_the_definitions_are_openshifts_a_missing_condition_is_nobodys_fault() {
    let mut objects = cluster();
    objects.digest_sets = named([("set", judged(&[]))]);
    assert_eq!(report(&objects, now()).summary.waiting_objects, 1);
    objects.pools = named([]);
    let on_openshift = report(&objects, now());
    assert_eq!(on_openshift.objects[0].outcome, Outcome::NoConditions);
    assert_eq!(on_openshift.summary.waiting_objects, 0);
}

#[test]
fn the_lease_says_whether_the_operator_runs() {
    let lease = |holder: Option<&str>, renewed| {
        named([(OPERATOR, OperatorLease { holder: holder.map(str::to_owned), renewed, seconds: 15 })])
    };
    let holder = || "pod-a".to_owned();
    let forbidden = Listed { access: Access::Forbidden, ..Listed::default() };
    for (leases, expected) in [
        (
            lease(Some("pod-a"), Some(ago(15))),
            OperatorReport::Running { holder: holder(), renewed_seconds_ago: 15 },
        ),
        (
            lease(Some("pod-a"), Some(ago(16))),
            OperatorReport::Lapsed { holder: holder(), renewed_seconds_ago: 16 },
        ),
        // Its clock is ahead of ours.
        (
            lease(Some("pod-a"), Some(ago(-9))),
            OperatorReport::Running { holder: holder(), renewed_seconds_ago: 0 },
        ),
        (lease(None, Some(ago(3))), OperatorReport::Released),
        (named([]), OperatorReport::NotInstalled),
        (forbidden, OperatorReport::Unknown),
    ] {
        assert_eq!(report(&ClusterObjects { leases, ..cluster() }, now()).operator, expected);
    }
}

#[test]
fn the_kubelet_says_which_runtime_a_node_has() {
    for (runtime, kubelet, expected) in [
        ("cri-o://1.34.0", "v1.34.1", Some(NodeRuntime::Crio)),
        ("containerd://2.1.4", "v1.34.1", Some(NodeRuntime::Containerd)),
        ("containerd://2.1.4-k3s1", "v1.34.1+k3s1", Some(NodeRuntime::K3s)),
        ("containerd://2.1.4-k3s2", "v1.34.1+rke2r1", None),
        ("docker://28.0.1", "v1.34.1+k3s1", None),
        ("", "", None),
    ] {
        let report =
            report(&ClusterObjects { nodes: named([("n", versions(runtime, kubelet))]), ..cluster() }, now());
        assert_eq!(report.nodes.runtimes.keys().next().copied(), expected, "{runtime}");
        assert_eq!(report.nodes.unsupported.len(), usize::from(expected.is_none()), "{runtime}");
    }
}

fn configuration(runtime: NodeRuntime, created: i64) -> Configuration {
    Configuration { runtime, created: Some(ago(created)), files: 2, bytes: 2048 }
}

/// A node in each state, one without, and one state without a node.
fn rolling_out() -> ClusterObjects {
    let crio = || versions("cri-o://1.34.0", "v1.34.1");
    ClusterObjects {
        configurations: named([
            ("containerd-1", configuration(NodeRuntime::Containerd, 10)),
            ("crio-new", configuration(NodeRuntime::Crio, 10)),
            ("crio-old", configuration(NodeRuntime::Crio, 20)),
            ("crio-older", configuration(NodeRuntime::Crio, 30)),
        ]),
        nodes: named(["behind", "done", "failed", "rolling", "told", "untold"].map(|name| (name, crio()))),
        states: named([
            ("behind", state("crio-old", "crio-old", Some(("True", "Applied")))),
            ("done", state("crio-new", "crio-new", Some(("True", "Applied")))),
            ("failed", state("crio-new", "crio-old", Some(("False", "RolledBack")))),
            ("gone", state("crio-older", "crio-old", Some(("False", "Failed")))),
            ("rolling", state("crio-new", "crio-old", Some(("False", "Progressing")))),
            ("told", state("crio-lost", "", None)),
        ]),
        ..cluster()
    }
}

#[test]
fn each_configuration_says_how_many_nodes_have_it() {
    let report = report(&rolling_out(), now());
    let Delivery::NodeConfigurations { configurations } = &report.delivery else { panic!("{report:?}") };
    let counts: Vec<_> = configurations
        .iter()
        .map(|one| (one.name.as_str(), one.content.is_some(), one.wanted_by, one.on, one.failed_on))
        .collect();
    assert_eq!(
        counts,
        [
            ("containerd-1", true, 0, 0, 0),
            ("crio-lost", false, 1, 0, 0),
            ("crio-new", true, 3, 1, 1),
            ("crio-old", true, 1, 1, 0)
        ]
    );
    let names = |nodes: Vec<&String>| nodes.into_iter().cloned().collect::<Vec<_>>();
    assert_eq!(names(report.nodes.waiting.iter().map(|node| &node.name).collect()), ["behind", "untold"]);
    assert_eq!(names(report.nodes.in_flight.iter().map(|node| &node.name).collect()), ["rolling", "told"]);
    let [rollout] = report.nodes.rollouts.as_slice() else { panic!("{:?}", report.nodes.rollouts) };
    let counts = (rollout.have, rollout.waiting, rollout.in_flight, rollout.failed, rollout.nodes());
    assert_eq!((counts, rollout.stopped), ((1, 2, 2, 1, 6), true));
    assert_eq!(names(report.nodes.failed.iter().map(|node| &node.name).collect()), ["failed"]);
    assert!(report.summary.has_problems());
}

#[test]
fn where_nodes_cannot_be_read_their_states_still_count() {
    let nodes = Listed { access: Access::Forbidden, ..Listed::default() };
    let report = report(&ClusterObjects { nodes, ..rolling_out() }, now());
    assert_eq!(report.nodes.failed.len(), 2);
    assert_eq!(report.not_readable[0].kind, "Node");
}

#[test]
fn pools_count_where_openshift_delivers() {
    let ours = || vec!["00-worker".to_owned(), "99-worker-pullwright".to_owned()];
    let pool =
        |built_in, sources, updated, degraded| Pool { built_in, sources, machines: 5, updated, degraded };
    let worker = || named([("worker", pool(true, ours(), 3, 1))]);
    let objects = ClusterObjects {
        machine_configs: named([("99-worker-pullwright", ()), ("99-arbiter-pullwright", ())]),
        pools: named([
            ("worker", pool(true, ours(), 3, 1)),
            // Inherits what the workers get.
            ("infra", pool(false, ours(), 5, 0)),
            ("arbiter", pool(true, vec![], 5, 0)),
            // Has nothing of ours, so its trouble is not ours.
            ("master", pool(true, vec![], 0, 2)),
        ]),
        ..cluster()
    };
    let unreadable = || Listed { access: Access::Forbidden, ..Listed::default() };
    let partly =
        report(&ClusterObjects { machine_configs: unreadable(), pools: worker(), ..cluster() }, now());
    assert_eq!((partly.summary.waiting_nodes, partly.summary.failed_nodes), (1, 1));
    let report = report(&objects, now());
    assert_eq!((report.summary.waiting_nodes, report.summary.failed_nodes), (1 + 5, 1));
    let text = text_of(&report);
    for line in [
        "  … pool arbiter: 99-arbiter-pullwright is not yet in what its 5 machines should have\n",
        "  ✓ pool infra: 99-worker-pullwright, 5 of 5 machines updated\n",
        "  - pool master: no MachineConfig 99-master-pullwright in it\n",
        "  ✗ pool worker: 99-worker-pullwright, 3 of 5 machines updated, 1 degraded\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

#[test]
fn a_report_reads_like_this() {
    let mut objects = rolling_out();
    let sick = NodeVersions { ready: false, ..versions("cri-o://1.34.0", "v1.34.1") };
    objects.nodes.put("untold".to_owned(), Ok(sick));
    objects.nodes.put("win-1".to_owned(), Ok(versions("docker://28.0.1", "v1.34.1")));
    objects.digest_sets = named([
        ("bad", judged(&[condition("Applied", "False", "Rejected", "no rule is valid")])),
        ("good", judged(&[condition("Applied", "True", "Applied", "")])),
        ("new", judged(&[])),
    ]);
    objects.images = named([("cluster", judged(&[])), ("other", judged(&[]))]);
    objects.tag_sets.unparsable.insert("odd".to_owned(), "invalid type: map, expected a string".to_owned());
    objects.providers.access = Access::Forbidden;
    assert_eq!(
        said(&objects),
        "\
Operator
  ✓ pod-a, renewed 3 s ago
Objects
  ✗ ImageDigestMirrorSet/bad rejected
      Rejected: no rule is valid
  … ImageDigestMirrorSet/new not judged yet
  - Image/cluster has no conditions in this cluster; its Events say what became of it
  ✓ ImageDigestMirrorSet/good applied
Delivery
  - containerd-1: 2 files (2.00 KiB) for containerd, named by no NodeState
  ! crio-lost: 1 node should have it, but it does not exist
  ✗ crio-new: 2 files (2.00 KiB) for crio, on 1 of 3 nodes, 1 failed
  ✓ crio-old: 2 files (2.00 KiB) for crio, on 1 of 1 node
Nodes
  7 nodes: 6 with crio, 1 with a runtime that is not supported
  ✗ crio: 1 of 6 nodes have crio-new, 2 waiting, 2 in flight, 1 failed; stopped until the node that failed is well or something else is wanted
  ✗ failed failed: RolledBack: systemctl says no
  … rolling in flight: Progressing: systemctl says no
  … told in flight: its agent has not taken note yet
  … waiting: behind, untold
  ! not Ready, which counts as unavailable, so the others may have to wait: untold
  ! not supported: win-1 (docker://28.0.1, kubelet v1.34.1)
Not readable
  ! CRIOCredentialProviderConfig: not readable: Forbidden
  ✗ ImageTagMirrorSet/odd: cannot be parsed: invalid type: map, expected a string
✗ 1 node failed, 1 object cannot be parsed, 1 object rejected, 1 object waiting, 2 nodes in flight, 2 nodes waiting, as far as you may read it
"
    );
}

#[test]
fn an_empty_cluster_is_where_it_should_be() {
    let mut objects = cluster();
    assert_eq!(said(&objects), "Operator\n  ✓ pod-a, renewed 3 s ago\n✓ everything is where it should be\n");
    objects.leases = named([]);
    assert!(said(&objects).ends_with("but the operator is not running\n"));
}

#[test]
fn a_large_cluster_is_summed_up_for_people_and_complete_for_programs() {
    let applied = || judged(&[condition("Applied", "True", "Applied", "")]);
    let rejected = || judged(&[condition("Applied", "False", "Rejected", &"x".repeat(32_768))]);
    let mut objects = ClusterObjects {
        digest_sets: listed((0..997).map(|n| (format!("set-{n}"), applied()))),
        tag_sets: listed((0..50).map(|n| (format!("bad-{n:02}"), rejected()))),
        nodes: listed((0..5000).map(|n| (format!("node-{n:04}"), versions("cri-o://1", "v1")))),
        states: listed((0..5000).map(|n| (format!("node-{n:04}"), state("crio-1", "", None)))),
        ..cluster()
    };
    objects.states.put("node-0000".to_owned(), Ok(state("crio-1", "", Some(("False", "ReloadFailed")))));
    let report = report(&objects, now());
    let text = text_of(&report);
    assert!(text.contains("  ✓ 997 mirror sets applied\n"), "{text}");
    assert!(text.contains("bad-09 rejected") && !text.contains("bad-10"), "{text}");
    assert!(text.contains("    and 40 more\n"), "{text}");
    assert!(text.contains("node-0010 in flight") && text.contains("    and 4989 more\n"), "{text}");
    assert!(text.lines().count() < 60 && text.len() < 10_000, "{text}");
    let data = serde_json::to_value(&report).unwrap();
    assert_eq!(data["objects"].as_array().unwrap().len(), 1047);
    assert_eq!(data["nodes"]["in_flight"].as_array().unwrap().len(), 4999);
    assert_eq!(data["objects"][0]["conditions"][0]["message"].as_str().unwrap().len(), 32_768);
}

#[test]
fn a_message_cannot_steer_the_terminal_or_invent_a_line() {
    let mut objects = cluster();
    let message = "no\n✓ everything is where it should be\u{1b}[2J\r";
    objects.digest_sets = named([("bad", judged(&[condition("Applied", "False", "Rejected", message)]))]);
    let mut out = Vec::new();
    text::write(&report(&objects, now()), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.contains("Rejected: no ✓ everything is where it should be\u{fffd}[2J\u{fffd}\n"),
        "{text:?}"
    );
}

#[test]
fn a_renewed_lease_is_no_news_and_a_lapsed_one_is() {
    let objects = cluster();
    let at = |seconds| report(&objects, now() + SignedDuration::from_secs(seconds));
    assert!(!at(5).is_news_after(&at(0)));
    assert!(at(20).is_news_after(&at(5)));
    assert!(!at(60).is_news_after(&at(20)));
    let more = report(&rolling_out(), now());
    assert!(more.is_news_after(&at(0)));
}

#[test]
fn a_node_whose_plugin_fails_needs_a_person() {
    let mut failing = state("crio-1", "crio-1", Some(("True", "Applied")));
    failing.plugin_fails = Some("pulls go on without the plugin".to_owned());
    let nodes = named([("a", versions("cri-o://1.36.3", "v1.36.3"))]);
    let objects = ClusterObjects { states: named([("a", failing)]), nodes, ..cluster() };
    assert!(report(&objects, now()).summary.has_problems());
    let text = said(&objects);
    assert!(text.contains("✗ a plugin fails: pulls go on without the plugin"), "{text}");
    assert!(text.contains("1 node with a plugin that fails"), "{text}");
}
