//! OpenShift: `MachineConfig`s for the pools, and Events where mirror sets have no conditions.

use pullwright_api::ignition::ignition_files;
use pullwright_testkit::openshift;
use serde_json::{Value, json};

use crate::steps::{content_source_policy, name, names, of_kind, plugin_images, shown};
use crate::world::{Flavour, World, digest_mirror_set, eventually, provider_config};

const MACHINE_CONFIGS: &str = "machineconfigs.machineconfiguration.openshift.io";
const PROVIDERS: &str = "/etc/kubernetes/credential-providers";
const DROP_IN: &str = "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf";
const DROP_IN_TEXT: &str = "[Service]\n\
    # Prepends the credential provider flags to the existing Kubelet arguments\n\
    Environment=\"KUBELET_CRIO_IMAGE_CREDENTIAL_PROVIDER_FLAGS=\
    --image-credential-provider-bin-dir=/usr/libexec/kubelet-image-credential-provider-plugins \
    --image-credential-provider-config=/etc/kubernetes/credential-providers/generic-credential-provider.yaml\"\n";
const REGISTRIES: &str = "/etc/containers/registries.conf";
const POLICY: &str = "/etc/containers/policy.json";
const RELEASE: &str = "payload-reg.io/release-image@sha256:\
    e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A cluster with both pools and without a version.
fn cluster(test: &str) -> World {
    let world = World::new(test, Flavour::OpenShift);
    world.plane.create_many(["master", "worker"].map(openshift::pool).into_iter()).unwrap();
    world
}

fn platform(world: &World, platform: &str) {
    with_status(
        world,
        json!({
            "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"}, "spec": {},
            "status": {"platformStatus": {"type": platform}},
        }),
    );
}

fn release(world: &World, image: &str) {
    with_status(
        world,
        json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"}, "spec": {},
            "status": {"desired": {"image": image, "version": "4.21.0"}},
        }),
    );
}

fn with_status(world: &World, object: Value) {
    let mut without = object.clone();
    without.as_object_mut().unwrap().remove("status");
    world.apply_object(&without);
    world.plane.set_status_of_many([object].into_iter()).unwrap();
}

/// The files of a `MachineConfig`: path, permissions and text.
fn files(config: &Value) -> Vec<(String, Option<i32>, String)> {
    let files = ignition_files(&config["spec"]["config"]).unwrap();
    let text = |contents: Vec<u8>| String::from_utf8(contents).unwrap();
    files.iter().map(|file| (file.path.clone(), file.mode, text(file.contents().unwrap()))).collect()
}

fn file(config: &Value, path: &str) -> Option<String> {
    files(config).into_iter().find(|(found, ..)| found == path).map(|(.., text)| text)
}

/// Waits until both pools have a `MachineConfig` with the same files, which are as `wanted` says, and returns the worker's.
fn wait_for_files(world: &World, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    eventually(what, || {
        let config = |pool: &str| world.get("machineconfig", &format!("99-{pool}-pullwright"));
        match (config("master"), config("worker")) {
            (Some(master), Some(worker)) if files(&master) == files(&worker) && wanted(&worker) => Ok(worker),
            (_, worker) => Err(format!("{:?}", worker.map(|worker| files(&worker)))),
        }
    })
}

#[test]
fn pools_get_the_files_that_their_platform_needs() {
    let world = cluster("openshift_files");
    platform(&world, "None");
    world.apply_object(&digest_mirror_set("vendor", "quay.io/vendor", &["mirror.local/vendor"]));
    world.apply_object(&provider_config(&["example.com"]));
    let mut replica = world.start("one", &[]);
    without_a_release_image_nothing_is_delivered(&world);

    release(&world, RELEASE);
    let worker = wait_for_files(&world, "MachineConfigs", |_| true);
    world.wait_for_provider_message(
        "MachineConfigRendered",
        "written to 99-master-pullwright, 99-worker-pullwright",
    );
    is_a_plain_machine_config(&worker);
    let generic = format!("{PROVIDERS}/generic-credential-provider.yaml");
    assert_eq!(file(&worker, DROP_IN).as_deref(), Some(DROP_IN_TEXT));
    assert_eq!(plugin_images(&file(&worker, &generic).unwrap()), ["example.com"]);
    let registries = file(&worker, REGISTRIES).unwrap();
    assert!(
        registries.contains("registry.access.redhat.com") && registries.contains("mirror.local/vendor"),
        "{registries}"
    );
    assert_eq!(file(&worker, POLICY), None, "nothing is blocked");
    assert!(files(&worker).iter().all(|(_, mode, _)| *mode == Some(0o644)), "{:?}", files(&worker));

    world.apply_object(&provider_config(&["example.com", "example1.com"]));
    wait_for_files(&world, "both images", |found| {
        plugin_images(&file(found, &generic).unwrap()) == ["example.com", "example1.com"]
    });
    for (cloud, short) in [("AWS", "ecr"), ("GCP", "gcr"), ("Azure", "acr")] {
        platform(&world, cloud);
        let path = format!("{PROVIDERS}/{short}-credential-provider.yaml");
        let worker = wait_for_files(&world, cloud, |found| file(found, &path).is_some());
        assert_eq!((file(&worker, DROP_IN), file(&worker, &generic)), (None, None), "the unit has the flags");
        let config: Value = serde_saphyr::from_str(&file(&worker, &path).unwrap()).unwrap();
        let providers = config["providers"].as_array().unwrap();
        let order: Vec<&str> = providers.iter().map(|provider| provider["name"].as_str().unwrap()).collect();
        assert_eq!(order, [&*format!("{short}-credential-provider"), "crio-credential-provider"]);
    }
    what_is_blocked_reaches_the_nodes_except_the_release_image(&world);
    what_is_said_in_events_is_said_once(&world, &mut replica);

    let replica = world.start("last", &[]);
    // A name that OpenShift's own administrators might use.
    world.kubectl(&["label", "machineconfig", "99-worker-pullwright", "app.kubernetes.io/managed-by-"]);
    let before = world.get("machineconfig", "99-worker-pullwright").unwrap();
    world.apply_object(&provider_config(&["example.com"]));
    let message = world.wait_for_provider("MachineConfigRendered", "False", "ForeignObject");
    assert!(message.contains("99-worker-pullwright") && !message.contains("99-master"), "{message}");
    assert_eq!(world.get("machineconfig", "99-worker-pullwright").unwrap()["spec"], before["spec"]);
    world.kubectl(&[
        "label",
        "machineconfig",
        "99-worker-pullwright",
        "app.kubernetes.io/managed-by=pullwright-operator",
    ]);
    world.wait_for_provider("MachineConfigRendered", "True", "MachineConfigRenderingSucceeded");

    let before = files(&world.get("machineconfig", "99-worker-pullwright").unwrap());
    let patch = r#"{"spec": {"config": {"storage": {"files": []}}}}"#;
    world.kubectl(&["patch", "machineconfig", "99-worker-pullwright", "--type=merge", "--patch", patch]);
    wait_for_files(&world, "what was changed by hand to be back", |found| files(found) == before);

    for (kind, name) in [
        ("imagedigestmirrorset", "vendor"),
        ("imagecontentsourcepolicy", "partly"),
        ("image.config.openshift.io", "cluster"),
    ] {
        world.delete(kind, name);
    }
    let patch = r#"[{"op": "remove", "path": "/spec/matchImages"}]"#;
    world.kubectl(&["patch", "criocredentialproviderconfig", "cluster", "--type=json", "--patch", patch]);
    world.wait_for_provider_message("MachineConfigRendered", "there is nothing to bring to the nodes");
    eventually("the MachineConfigs to go", || {
        let left = world.list("machineconfigs");
        if left.is_empty() { Ok(()) } else { Err(format!("{:?}", names(&left))) }
    });
    drop(replica);
}

fn without_a_release_image_nothing_is_delivered(world: &World) {
    let message = world.wait_for_provider("MachineConfigRendered", "False", "Unparsable");
    assert!(message.contains("ClusterVersion"), "{message}");
    assert!(world.list("machineconfigs").is_empty());
}

fn is_a_plain_machine_config(config: &Value) {
    let metadata = &config["metadata"];
    assert_eq!(
        metadata["labels"],
        json!({
            "app.kubernetes.io/managed-by": "pullwright-operator",
            "machineconfiguration.openshift.io/role": "worker",
        })
    );
    assert_eq!((metadata.get("annotations"), metadata.get("ownerReferences")), (None, None));
    assert_eq!(name(config), "99-worker-pullwright");
}

fn what_is_blocked_reaches_the_nodes_except_the_release_image(world: &World) {
    let image = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "Image", "metadata": {"name": "cluster"},
        "spec": {"registrySources": {"blockedRegistries": ["block.io", "payload-reg.io"]}},
    });
    world.apply_object(&image);
    let worker = wait_for_files(world, "policy.json", |found| file(found, POLICY).is_some());
    let (registries, policy) = (file(&worker, REGISTRIES).unwrap(), file(&worker, POLICY).unwrap());
    for text in [&registries, &policy] {
        assert!(text.contains("block.io") && !text.contains("payload-reg.io"), "{text}");
    }
    let note = world.wait_for_event("Image", "cluster", "PartlyApplied");
    assert!(note.contains("payload-reg.io"), "{note}");
}

fn what_is_said_in_events_is_said_once(world: &World, replica: &mut crate::world::Replica) {
    let rules: &[(&str, &[&str])] =
        &[("*.insecure.com/ns", &["mirror.local/x"]), ("quay.io/a", &["mirror.local/a"])];
    world.apply_object(&content_source_policy("partly", rules));
    let note = world.wait_for_event("ImageContentSourcePolicy", "partly", "PartlyApplied");
    assert!(note.contains("spec.repositoryDigestMirrors[0]"), "{note}");
    assert!(world.events("ImageDigestMirrorSet", "vendor").is_empty(), "there is nothing wrong with it");
    world.writes_until_rest(world.mark());
    replica.process.terminate(std::time::Duration::from_secs(20)).unwrap();
    let mark = world.mark();
    let mut second = world.start("two", &[]);
    second.wait_for_pass();
    let writes = world.writes_until_rest(mark);
    let events = of_kind(&writes, "events.events.k8s.io");
    assert!(events.iter().all(|event| !event.succeeded()), "{}", shown(&writes));
    assert_eq!(of_kind(&writes, MACHINE_CONFIGS).len(), 0, "{}", shown(&writes));
    assert_eq!(world.events("ImageContentSourcePolicy", "partly").len(), 1);
    assert_eq!(world.events("Image", "cluster").len(), 1);
    second.process.terminate(std::time::Duration::from_secs(20)).unwrap();
}

#[test]
fn a_pool_counts_once_its_rendered_configuration_has_our_files() {
    let world = cluster("openshift_rollout");
    platform(&world, "None");
    release(&world, RELEASE);
    let _replica = world.start("one", &[]);
    world.apply_object(&digest_mirror_set("vendor", "quay.io/vendor", &["mirror.local/vendor"]));
    world.apply_object(&provider_config(&["example.com"]));
    let ours = wait_for_files(&world, "MachineConfigs", |_| true);
    world.wait_for_provider("NodesUpdated", "Unknown", "NoNodes");

    rendered(&world, "worker", "rendered-worker-old", &json!({"ignition": {"version": "3.5.0"}}), (3, 3, 0));
    world.wait_for_provider_message("NodesUpdated", "0 of 3 nodes have it");
    world.wait_for_provider("NodesUpdated", "False", "RollingOut");
    let with_ours = &ours["spec"]["config"];
    rendered(&world, "worker", "rendered-worker-new", with_ours, (3, 1, 0));
    world.wait_for_provider_message("NodesUpdated", "1 of 3 nodes have it");
    rendered(&world, "worker", "rendered-worker-new", with_ours, (3, 1, 1));
    world.wait_for_provider("NodesUpdated", "False", "NodesFailed");
    rendered(&world, "master", "rendered-master-new", with_ours, (1, 1, 0));
    rendered(&world, "worker", "rendered-worker-new", with_ours, (3, 3, 0));
    world.wait_for_provider("NodesUpdated", "True", "AllNodes");
    world.wait_for_provider_message("NodesUpdated", "4 of 4 nodes have it");

    what_does_not_fit_is_not_written(&world, &ours);
}

/// What the Machine Config Operator makes of a pool: all its `MachineConfig`s in one, and how many nodes have it.
fn rendered(world: &World, pool: &str, name: &str, config: &Value, counts: (u32, u32, u32)) {
    world.apply_object(&json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig", "metadata": {"name": name},
        "spec": {"config": config},
    }));
    pool_has(world, pool, name, counts);
}

fn pool_has(world: &World, pool: &str, name: &str, counts: (u32, u32, u32)) {
    let mut object = openshift::pool(pool);
    object["spec"]["configuration"] = json!({"name": name});
    let (all, updated, degraded) = counts;
    object["status"] =
        json!({"machineCount": all, "updatedMachineCount": updated, "degradedMachineCount": degraded});
    with_status(world, object);
}

fn what_does_not_fit_is_not_written(world: &World, before: &Value) {
    let mark = world.mark();
    world.plane.create_many([long_mirror_set("long", 10_000)].into_iter()).unwrap();
    let message = world.wait_for_provider("MachineConfigRendered", "False", "TooLarge");
    for pool in ["master", "worker"] {
        assert!(message.contains(&format!("99-{pool}-pullwright would have ")), "{message}");
    }
    assert!(message.contains(" bytes, and at most 1556480 fit"), "{message}");
    let writes = world.writes_until_rest(mark);
    assert_eq!(of_kind(&writes, MACHINE_CONFIGS).len(), 0, "{}", shown(&writes));
    wait_for_files(world, "the files as they were", |found| files(found) == files(before));
    world.delete("imagedigestmirrorset", "long");
    world.wait_for_provider("MachineConfigRendered", "True", "MachineConfigRenderingSucceeded");

    // Where a pool has much else, it is too large for that pool only.
    let mut config = before["spec"]["config"].clone();
    let much = format!("data:,{}", "x".repeat(1_000_000));
    let other = json!({"path": "/etc/other", "contents": {"source": much}});
    config["storage"]["files"].as_array_mut().unwrap().push(other);
    let mark = world.mark();
    let object = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": "rendered-worker-much"}, "spec": {"config": config},
    });
    world.plane.create_many([object].into_iter()).unwrap();
    pool_has(world, "worker", "rendered-worker-much", (3, 3, 0));
    world.plane.create_many([long_mirror_set("half", 4_000)].into_iter()).unwrap();
    let message = world.wait_for_provider("MachineConfigRendered", "False", "TooLarge");
    assert!(message.contains("99-worker") && !message.contains("99-master"), "{message}");
    let writes = world.writes_until_rest(mark);
    let writes = of_kind(&writes, MACHINE_CONFIGS);
    assert!(matches!(writes[..], [one] if one.name.as_deref() == Some("99-master-pullwright")), "{writes:?}");
}

fn long_mirror_set(name: &str, mirrors: usize) -> Value {
    let mirrors: Vec<String> =
        (0..mirrors).map(|mirror| format!("mirror-{mirror}.{}.local/vendor", "x".repeat(50))).collect();
    let mirrors: Vec<&str> = mirrors.iter().map(String::as_str).collect();
    digest_mirror_set(name, "registry.example.com", &mirrors)
}
