//! Decisions about the nodes, and what is said about them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use pullwright_api::openshift::MachineConfig;
use pullwright_api::{NodeConfiguration, NodeRuntime, condition, ignition};
use pullwright_engine::mirrors::{MirrorSet, MirrorSetKind, MirrorSetRule, RegistrySources, SourcePolicy};
use serde_json::Value;

use super::*;
use crate::category::Category;
use crate::provider_config::Platform;
use crate::write::{ObjectWrite, OwnObject};

const RELEASE: &str =
    "payload-reg.io/release-image@sha256:4207ba569ff014931f1b5d125fe3751936a768e119546683c899eb09f3cdceb0";

fn settings() -> NodeSettings {
    NodeSettings {
        audience: "https://kubernetes.default.svc".to_owned(),
        named_secrets: false,
        hosts: Vec::new(),
        existing_providers: None,
    }
}

fn object<T>(kind: UserKind, name: &str, value: T) -> Arc<UserObject<T>> {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        uid: Some(format!("uid-{name}")),
        generation: Some(1),
        ..ObjectMeta::default()
    };
    Arc::new(UserObject::new(kind, metadata, Vec::new(), value))
}

fn set(name: &str, source: &str, mirrors: &[&str]) -> Arc<UserObject<MirrorSet>> {
    let rule = MirrorSetRule {
        source: source.to_owned(),
        mirrors: mirrors.iter().map(|&mirror| mirror.to_owned()).collect(),
        policy: None,
    };
    let kind = MirrorSetKind::ImageDigestMirrorSet;
    object(UserKind::ImageDigestMirrorSet, name, MirrorSet { kind, name: name.to_owned(), rules: vec![rule] })
}

fn provider(images: &[&str]) -> Arc<UserObject<Vec<String>>> {
    let images = images.iter().map(|&image| image.to_owned()).collect();
    object(UserKind::ProviderConfig(ProviderVersion::V1), "cluster", images)
}

fn node(name: &str, runtime: NodeRuntime, platform: Platform) -> Arc<NodeFacts> {
    Arc::new(NodeFacts {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        runtime: Some(runtime),
        platform,
        zone: String::new(),
        ready: true,
        cordoned: false,
    })
}

/// A cluster with one node of each runtime.
fn plain() -> Observed {
    let nodes = NodeRuntime::ALL.map(|runtime| node(runtime.name(), runtime, Platform::Other));
    Observed {
        mirror_sets: Vec::new(),
        image: None,
        provider: None,
        unparsable: Vec::new(),
        without_conditions: BTreeSet::from([UserKind::Image]),
        nodes: nodes.into(),
        delivery: ObservedDelivery::NodeAgent { own: Vec::new(), states: Vec::new() },
    }
}

fn openshift(platform: Platform) -> Observed {
    let pool = |name: &str| {
        let (name, target) = (name.to_owned(), format!("rendered-{name}-1"));
        Arc::new(PoolFacts { name, target, machines: 3, updated: 3, degraded: 0 })
    };
    Observed {
        delivery: ObservedDelivery::MachineConfig {
            own: Vec::new(),
            pools: vec![pool("master"), pool("worker")],
            rendered: BTreeMap::new(),
            platform,
            release_image: Some(RELEASE.to_owned()),
        },
        nodes: Vec::new(),
        ..plain()
    }
}

fn created(decision: &Decision) -> Vec<Value> {
    let body = |write: &ObjectWrite| match write {
        ObjectWrite::Create(wanted) | ObjectWrite::Replace(wanted, _) => Some(wanted.body.clone()),
        ObjectWrite::Delete(_) => None,
    };
    decision.writes.iter().filter_map(body).collect()
}

/// What the API server has once the writes are carried out.
fn stored(decision: &Decision, content: fn(&Value) -> Value) -> Vec<OwnObject> {
    let own = |body: Value| {
        let metadata: ObjectMeta = serde_json::from_value(body["metadata"].clone()).unwrap();
        OwnObject::new(&metadata, &content(&body))
    };
    created(decision).into_iter().map(own).collect()
}

fn with_own(mut observed: Observed, own: Vec<OwnObject>) -> Observed {
    match &mut observed.delivery {
        ObservedDelivery::NodeAgent { own: before, .. } => {
            let own = own.into_iter().map(|object| OwnConfiguration { object, rolled_out: None });
            *before = own.map(Arc::new).collect();
        }
        ObservedDelivery::MachineConfig { own: before, .. } => *before = own,
    }
    observed
}

fn said(observed: &Observed, type_: &str) -> (String, String, String) {
    let decision = decide(observed, &settings());
    let statuses = statuses(observed, &decision, &BTreeMap::new(), &BTreeSet::new(), Timestamp::UNIX_EPOCH);
    let all = statuses.conditions.iter().flat_map(|change| &change.write.conditions);
    let found = all.into_iter().find(|condition| condition.type_ == type_).unwrap();
    (found.status.clone(), found.reason.clone(), found.message.clone())
}

#[test]
fn each_runtime_gets_its_own_files_and_nothing_is_written_twice() {
    let observed = Observed {
        mirror_sets: vec![set("a", "quay.io", &["m.io/quay"])],
        provider: Some(provider(&["quay.io"])),
        ..plain()
    };
    let decision = decide(&observed, &settings());
    let objects: Vec<NodeConfiguration> =
        created(&decision).into_iter().map(|body| serde_json::from_value(body).unwrap()).collect();
    assert!(objects.iter().all(NodeConfiguration::is_intact));
    let paths: Vec<&str> = objects.iter().map(|object| object.spec.files[0].path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/etc/containers/registries.conf.d/50-pullwright.conf",
            "/etc/containerd/certs.d/quay.io/hosts.toml",
            "/etc/rancher/k3s/registries.yaml",
        ]
    );
    let providers: Vec<_> =
        objects.iter().map(|object| object.spec.credential_provider_config.as_ref().unwrap()).collect();
    assert!(!providers[0].contains("ticket"), "CRI-O looks for the file itself: {}", providers[0]);
    assert!(providers[1].contains("ticket"), "{}", providers[1]);

    let again = with_own(observed, stored(&decision, objects::node_configuration_content));
    assert_eq!(decide(&again, &settings()).writes, []);
}

#[test]
fn where_the_plugin_runs_it_finds_the_mirrors_whatever_the_runtime_reads() {
    let conf = |observed: &Observed| -> BTreeMap<String, bool> {
        let has_conf = |object: &Value| {
            let files = object["spec"]["files"].as_array().unwrap();
            files.iter().any(|file| file["path"] == "/etc/containers/registries.conf.d/50-pullwright.conf")
        };
        let objects = created(&decide(observed, &settings()));
        let runtime = |object: &Value| object["spec"]["runtime"].as_str().unwrap().to_owned();
        objects.iter().map(|object| (runtime(object), has_conf(object))).collect()
    };
    let sets = vec![set("a", "quay.io", &["mirror.example.com"])];
    let without = Observed { mirror_sets: sets, ..plain() };
    let of = |crio, containerd, k3s| {
        [("crio", crio), ("containerd", containerd), ("k3s", k3s)]
            .map(|(name, has)| (name.to_owned(), has))
            .into()
    };
    assert_eq!(conf(&without), of(true, false, false));
    let with = Observed { provider: Some(provider(&["quay.io"])), ..without };
    assert_eq!(conf(&with), of(true, true, true));
}

#[test]
fn without_objects_or_without_nodes_there_is_nothing_to_bring() {
    assert_eq!(decide(&plain(), &settings()).writes, []);
    let observed =
        Observed { mirror_sets: vec![set("a", "quay.io", &["m.io"])], nodes: Vec::new(), ..plain() };
    assert_eq!(decide(&observed, &settings()).writes, []);
    let observed = Observed { provider: Some(provider(&["quay.io"])), ..observed };
    assert_eq!(said(&observed, condition::NODES_UPDATED).1, condition::NO_NODES);
}

#[test]
fn a_content_that_nodes_still_have_stays() {
    let observed = Observed { mirror_sets: vec![set("a", "quay.io", &["m.io"])], ..plain() };
    let own = stored(&decide(&observed, &settings()), objects::node_configuration_content);
    let old = own[0].key.name.clone();
    let mut changed =
        with_own(Observed { mirror_sets: vec![set("a", "quay.io", &["n.io"])], ..plain() }, own);
    let ObservedDelivery::NodeAgent { states, .. } = &mut changed.delivery else { unreachable!() };
    states.push(Arc::new(NodeStateFacts {
        name: "crio".to_owned(),
        actual: Some(old.clone()),
        ..NodeStateFacts::default()
    }));
    let deleted: Vec<String> = decide(&changed, &settings())
        .writes
        .iter()
        .filter(|write| matches!(write, ObjectWrite::Delete(_)))
        .map(|write| write.key().name.clone())
        .collect();
    assert_eq!(deleted.len(), 2, "those of containerd and K3s: {deleted:?}");
    assert!(!deleted.contains(&old));
}

#[test]
fn if_no_set_is_valid_the_nodes_keep_what_they_have() {
    let observed = Observed {
        mirror_sets: vec![set("a", "not a source", &["m.io"])],
        provider: Some(provider(&["quay.io"])),
        ..plain()
    };
    let decision = decide(&observed, &settings());
    assert_eq!(decision.writes, []);
    assert_eq!(decision.held.as_ref().map(|held| held.0), Some(Category::NothingValid));
    let (status, reason, _) = said(&observed, condition::MACHINE_CONFIG_RENDERED);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "NothingValid"));
    // One good set is enough for it to be rolled out.
    let mut sets = observed.mirror_sets.clone();
    sets.push(set("b", "quay.io", &["m.io"]));
    let decision = decide(&Observed { mirror_sets: sets, ..observed }, &settings());
    assert_eq!(decision.writes.len(), 3);
}

#[test]
fn replacing_a_policy_by_a_mirror_set_changes_no_file() {
    let digest = set("a", "quay.io", &["m.io", "n.io"]);
    let policy = Arc::new(UserObject {
        kind: UserKind::ImageContentSourcePolicy,
        value: MirrorSet { kind: MirrorSetKind::ImageContentSourcePolicy, ..digest.value.clone() },
        ..(*digest).clone()
    });
    let files = |sets: &[Arc<UserObject<MirrorSet>>]| {
        created(&decide(&Observed { mirror_sets: sets.to_vec(), ..plain() }, &settings()))
    };
    let before = files(std::slice::from_ref(&policy));
    assert_eq!(before, files(&[policy, Arc::clone(&digest)]));
    assert_eq!(before, files(&[digest]));
}

#[test]
fn what_does_not_fit_is_refused_and_the_old_stays() {
    let small = Observed {
        mirror_sets: vec![set("a", "quay.io", &["m.io"])],
        provider: Some(provider(&["quay.io"])),
        ..openshift(Platform::Aws)
    };
    let own = stored(&decide(&small, &settings()), objects::machine_config_content);
    assert_eq!(own.len(), 2);
    let long = "x".repeat(200);
    let sets =
        (0..6_000).map(|index| set(&format!("s{index}"), &format!("quay.io/{index}/{long}"), &["m.io"]));
    let large = with_own(Observed { mirror_sets: sets.collect(), ..small }, own);
    let decision = decide(&large, &settings());
    assert_eq!(decision.writes, []);
    let (status, reason, message) = said(&large, condition::MACHINE_CONFIG_RENDERED);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "TooLarge"), "{message}");
    assert!(message.contains("bytes"), "{message}");
}

/// The files of the worker pool.
fn pool_files(observed: &Observed) -> BTreeMap<String, String> {
    let bodies = created(&decide(observed, &settings()));
    let Some(body) = bodies.iter().find(|body| body["metadata"]["name"] == "99-worker-pullwright") else {
        return BTreeMap::new();
    };
    let metadata = body["metadata"].as_object().unwrap();
    assert_eq!(metadata.keys().collect::<Vec<_>>(), ["labels", "name"], "no annotation, no owner");
    let config: MachineConfig = serde_json::from_value(body.clone()).unwrap();
    assert_eq!(config.spec.config["ignition"]["version"], "3.5.0");
    let files = ignition::ignition_files(&config.spec.config).unwrap();
    let file = |file: &ignition::IgnitionFile| {
        assert_eq!(file.mode, Some(0o644));
        (file.path.clone(), String::from_utf8(file.contents().unwrap()).unwrap())
    };
    files.iter().map(file).collect()
}

#[test]
fn each_platform_has_its_path_and_keeps_its_provider() {
    for (platform, name, drop_in) in [
        (Platform::Aws, "ecr", false),
        (Platform::Gcp, "gcr", false),
        (Platform::Azure, "acr", false),
        (Platform::Other, "generic", true),
    ] {
        for images in [&["example.com"][..], &["example.com", "example1.com"]] {
            let observed = Observed { provider: Some(provider(images)), ..openshift(platform) };
            let files = pool_files(&observed);
            let path = format!("/etc/kubernetes/credential-providers/{name}-credential-provider.yaml");
            let text = &files[&path];
            assert!(images.iter().all(|image| text.contains(image)), "{text}");
            let before = text.find(&format!("{name}-credential-provider"));
            assert_eq!(before.is_some(), !drop_in, "{text}");
            assert!(before < text.find("crio-credential-provider"), "ours comes behind: {text}");
            let unit = "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf";
            assert_eq!(files.contains_key(unit), drop_in);
            assert_eq!(files.len(), 1 + usize::from(drop_in));
        }
        let observed = Observed { provider: Some(provider(&[])), ..openshift(platform) };
        assert_eq!(pool_files(&observed), BTreeMap::new(), "without images there is no file");
    }
}

#[test]
fn on_openshift_the_files_are_the_machine_config_operators() {
    let mut rules =
        set("a", "registry.access.redhat.com/ubi8/ubi-minimal", &["example.io/digest-example/ubi-minimal"]);
    Arc::get_mut(&mut rules).unwrap().value.rules[0].policy = Some(SourcePolicy::NeverContactSource);
    let sources = RegistrySources {
        blocked: vec!["block.io".to_owned(), "payload-reg.io".to_owned()],
        ..RegistrySources::default()
    };
    let observed = Observed {
        mirror_sets: vec![rules],
        image: Some(object(UserKind::Image, "cluster", sources)),
        ..openshift(Platform::Aws)
    };
    let files = pool_files(&observed);
    let conf = &files["/etc/containers/registries.conf"];
    assert!(
        conf.starts_with(r#"unqualified-search-registries = ["registry.access.redhat.com", "docker.io"]"#),
        "{conf}"
    );
    assert!(conf.contains("block.io") && !conf.contains("payload-reg.io"), "nodes need the payload: {conf}");
    assert!(files["/etc/containers/policy.json"].contains("block.io"));
}

#[test]
fn without_the_release_image_nothing_is_delivered() {
    let mut observed = Observed { provider: Some(provider(&["quay.io"])), ..openshift(Platform::Aws) };
    let ObservedDelivery::MachineConfig { release_image, .. } = &mut observed.delivery else {
        unreachable!()
    };
    *release_image = None;
    assert_eq!(decide(&observed, &settings()).writes, []);
    let (status, _, message) = said(&observed, condition::MACHINE_CONFIG_RENDERED);
    assert_eq!(status, "False");
    assert!(message.contains("ClusterVersion"), "{message}");
}

#[test]
fn a_pool_has_it_once_its_rendered_configuration_does() {
    let mut observed = Observed { provider: Some(provider(&["example.com"])), ..openshift(Platform::Aws) };
    assert_eq!(said(&observed, condition::NODES_UPDATED).2, "0 of 6 nodes have it");
    let body = created(&decide(&observed, &settings())).remove(0);
    let config: MachineConfig = serde_json::from_value(body).unwrap();
    let with_ours = Arc::new(RenderedConfig::from(&config));
    let ObservedDelivery::MachineConfig { rendered, .. } = &mut observed.delivery else { unreachable!() };
    rendered.insert("rendered-worker-1".to_owned(), with_ours);
    assert_eq!(said(&observed, condition::NODES_UPDATED).2, "3 of 6 nodes have it");
}

#[test]
fn a_status_is_written_once_and_keeps_the_time_of_its_last_change() {
    let observed = Observed {
        mirror_sets: vec![set("a", "quay.io", &["m.io"])],
        provider: Some(provider(&["quay.io"])),
        ..plain()
    };
    let say = |observed: &Observed, now: i64| {
        let decision = decide(observed, &settings());
        statuses(
            observed,
            &decision,
            &BTreeMap::new(),
            &BTreeSet::new(),
            Timestamp::from_second(now).unwrap(),
        )
        .conditions
    };
    let first = say(&observed, 1);
    assert_eq!(first.len(), 2);
    let mut after = observed.clone();
    Arc::make_mut(&mut after.mirror_sets[0]).conditions = first[0].write.conditions.clone();
    let mut cluster = after.provider.take().unwrap();
    Arc::make_mut(&mut cluster).conditions = first[1].write.conditions.clone();
    after.provider = Some(cluster);
    assert_eq!(say(&after, 2), []);

    // A node more is progress only, and can wait.
    after.nodes.push(node("another", NodeRuntime::Crio, Platform::Other));
    let [progress] = &say(&after, 3)[..] else { panic!() };
    assert!(progress.only_progress);
    assert_eq!(
        progress.write.conditions[2].last_transition_time,
        first[1].write.conditions[2].last_transition_time
    );
    // A new generation is not.
    Arc::make_mut(after.provider.as_mut().unwrap()).generation = 2;
    assert!(say(&after, 4).iter().all(|write| !write.only_progress));
}

#[test]
fn what_has_no_conditions_gets_an_event_only_if_there_is_something_to_say() {
    let mut observed = Observed {
        mirror_sets: vec![set("a", "quay.io", &["m.io"]), set("b", "no source", &["m.io"])],
        ..plain()
    };
    observed.without_conditions.insert(UserKind::ImageDigestMirrorSet);
    let decision = decide(&observed, &settings());
    let statuses = statuses(&observed, &decision, &BTreeMap::new(), &BTreeSet::new(), Timestamp::UNIX_EPOCH);
    assert_eq!(statuses.conditions, []);
    // K3s cannot do everything that is asked of it, which is said about what is delivered to it.
    let (about_nodes, about_sets): (Vec<_>, Vec<_>) = statuses
        .events
        .iter()
        .partition(|event| event.regarding.kind.as_deref() == Some("NodeConfiguration"));
    assert!(about_nodes.iter().all(|event| event.reason == "Unsupported"), "{about_nodes:?}");
    let [event] = about_sets[..] else { panic!("{about_sets:?}") };
    assert_eq!(event.regarding.name.as_deref(), Some("b"));
    assert_eq!(event.reason, condition::REJECTED);
}
