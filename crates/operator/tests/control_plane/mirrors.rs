//! What mirror sets say about themselves, and what each runtime gets from them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::steps::{content_source_policy, file, name, names, of_kind, shown};
use crate::world::{Flavour, World, digest_mirror_set, eventually, provider_config};

const DROP_IN: &str = "/etc/containers/registries.conf.d/50-pullwright.conf";
const CONFIGURATIONS: &str = "nodeconfigurations.pullwright.dev";

#[test]
fn a_wrong_mirror_set_says_what_is_wrong_and_the_rest_is_delivered_to_every_runtime() {
    let world = World::new("mirror_sets", Flavour::Plain);
    world.nodes(&["crio"], "cri-o://1.36.3", "");
    world.nodes(&["containerd"], "containerd://2.4.2", "");
    world.nodes_with_kubelet(&["k3s"], "containerd://2.1.4-k3s1", "v1.34.1+k3s1");
    world.nodes(&["docker"], "docker://28.0.1", "");
    // All of it is there when the operator starts, so that one pass sees it.
    world.apply_object(&provider_config(&["quay.io"]));
    world.apply_object(&digest_mirror_set("good", "quay.io/vendor", &["mirror.local/vendor"]));
    // K3s has mirrors of whole registries only, and asks them for tags and digests alike.
    world.apply_object(&digest_mirror_set("hub", "docker.io", &["mirror.local"]));
    let mut by_tag = digest_mirror_set("hub", "docker.io", &["mirror.local"]);
    by_tag["kind"] = json!("ImageTagMirrorSet");
    by_tag["spec"] = json!({"imageTagMirrors": by_tag["spec"]["imageDigestMirrors"]});
    world.apply_object(&by_tag);
    let mirrors: &[&str] = &["mirror.local/x"];
    world.apply_object(&content_source_policy(
        "partly",
        &[("*.insecure.com/ns", mirrors), ("registry.k8s.io/pause", &["mirror.local/pause"])],
    ));
    world.apply_object(&content_source_policy("bad", &[("insecure.com/ns-i1 ", mirrors)]));
    let mark = world.mark();
    let mut replica = world.start("one", &[]);

    for (kind, name) in
        [("imagedigestmirrorset", "good"), ("imagedigestmirrorset", "hub"), ("imagetagmirrorset", "hub")]
    {
        world.wait_for_condition(kind, name, "Applied", "True", "Applied");
    }
    let policy = "imagecontentsourcepolicy";
    let message = world.wait_for_condition(policy, "partly", "Applied", "False", "PartlyApplied");
    assert!(message.contains("spec.repositoryDigestMirrors[0]") && !message.contains("[1]"), "{message}");
    let message = world.wait_for_condition(policy, "bad", "Applied", "False", "Rejected");
    assert!(message.contains("insecure.com/ns-i1 "), "{message}");

    let found = world.wait_for_configurations("one for each runtime", |found| found.len() == 3);
    let of = |runtime: &str| found.iter().find(|found| found["spec"]["runtime"] == runtime).unwrap();
    let files = [
        (of("crio"), DROP_IN),
        (of("containerd"), "/etc/containerd/certs.d/registry.k8s.io/hosts.toml"),
        (of("k3s"), "/etc/rancher/k3s/registries.yaml"),
    ];
    for (configuration, path) in files {
        let content = file(configuration, path).unwrap_or_else(|| panic!("{path}: {configuration:#}"));
        assert!(content.contains("mirror.local"), "{path}:\n{content}");
        assert!(!configuration.to_string().contains("insecure.com"), "{configuration:#}");
        let delivers_tickets = configuration["spec"]["credentialProviderConfig"].as_str().unwrap();
        let is_crio = configuration["spec"]["runtime"] == "crio";
        assert_eq!(delivers_tickets.contains("ticket"), !is_crio, "{delivers_tickets}");
    }
    let writes = world.writes_until_rest(mark);
    assert_eq!(of_kind(&writes, CONFIGURATIONS).len(), 3, "one pass is enough: {}", shown(&writes));
    let message = world.wait_for_provider("NodesUpdated", "False", "RollingOut");
    assert_eq!(message, "0 of 3 nodes have it", "the node with another runtime does not count");

    when_all_are_wrong_the_nodes_keep_what_they_have(&world);
    replica
        .wait_for_metric("pullwright_operator_nodes{runtime=\"k3s\",state=\"waiting\"}", |nodes| nodes > 0.5);
    world.delete("node", "k3s");
    eventually("the metrics to forget the last node of a runtime", || {
        let (_, text) = replica.get("/metrics").map_err(|error| error.to_string())?;
        if text.contains("runtime=\"k3s\"") { Err(text) } else { Ok(()) }
    });
    replica.process.terminate(Duration::from_secs(20)).unwrap();
    let mark = world.mark();
    let replica = world.start("two", &[]);
    replica.wait_for_pass();
    let writes = world.writes_until_rest(mark);
    assert_eq!(of_kind(&writes, CONFIGURATIONS).len(), 0, "also after a restart: {}", shown(&writes));
}

fn when_all_are_wrong_the_nodes_keep_what_they_have(world: &World) {
    world.delete("imagetagmirrorset", "hub");
    world.delete("imagedigestmirrorset", "hub");
    world.delete("imagecontentsourcepolicy", "partly");
    world.writes_until_rest(world.mark());
    let before = world.list("nodeconfigurations");
    let mark = world.mark();
    world.apply_object(&content_source_policy("bad", &[("insecure.com/ns-i1 ", &[]), ("*.x.com/y", &[])]));
    world.delete("imagedigestmirrorset", "good");
    let message = world.wait_for_provider("MachineConfigRendered", "False", "NothingValid");
    assert!(message.contains("the nodes keep what they have"), "{message}");
    let writes = world.writes_until_rest(mark);
    assert_eq!(of_kind(&writes, CONFIGURATIONS).len(), 0, "{}", shown(&writes));
    assert_eq!(names(&world.list("nodeconfigurations")), names(&before));
    let mut crio = before.iter().filter(|found| found["spec"]["runtime"] == "crio");
    let content = file(crio.next().unwrap(), DROP_IN).unwrap();
    assert!(content.contains("mirror.local/vendor"), "{content}");
}

#[test]
fn a_policy_that_a_mirror_set_replaces_changes_nothing_on_the_nodes() {
    let world = World::new("migration", Flavour::Plain);
    world.nodes(&["crio"], "cri-o://1.36.3", "");
    let _replica = world.start("one", &[]);
    let mirrors = ["mirror-1.local/vendor", "mirror-2.local/vendor"];
    world.apply_object(&content_source_policy("vendor", &[("quay.io/vendor", &mirrors)]));
    let policy = "imagecontentsourcepolicy";
    world.wait_for_condition(policy, "vendor", "Applied", "True", "Applied");
    let before = world.wait_for_the_configuration("one NodeConfiguration", |_| true);
    let mark = world.mark();
    world.apply_object(&digest_mirror_set("vendor", "quay.io/vendor", &mirrors));
    world.wait_for_condition("imagedigestmirrorset", "vendor", "Applied", "True", "Applied");
    world.delete(policy, "vendor");
    let writes = world.writes_until_rest(mark);
    assert_eq!(of_kind(&writes, CONFIGURATIONS).len(), 0, "{}", shown(&writes));
    let after = world.wait_for_the_configuration("the same one", |_| true);
    assert_eq!(before["metadata"]["uid"], after["metadata"]["uid"]);
    assert_eq!(name(&before), name(&after));

    what_was_changed_by_hand_is_put_back(&world, &after);
    what_is_not_ours_stays(&world, name(&after));
    conditions_of_somebody_else_are_not_fought_over(&world);
}

fn what_was_changed_by_hand_is_put_back(world: &World, configuration: &Value) {
    let id = name(configuration);
    let patch = r#"{"spec": {"files": []}}"#;
    world.kubectl(&["patch", "nodeconfiguration", id, "--type=merge", "--patch", patch]);
    let same = |found: &Value| found["spec"] == configuration["spec"];
    let back = world.wait_for_the_configuration("the content to be back", same);
    assert_eq!(back["metadata"]["uid"], configuration["metadata"]["uid"]);
    world.delete("nodeconfiguration", id);
    let back = world.wait_for_the_configuration("the object to be back", same);
    assert_ne!(back["metadata"]["uid"], configuration["metadata"]["uid"]);
}

fn what_is_not_ours_stays(world: &World, before: &str) {
    world.apply_object(&provider_config(&["quay.io"]));
    let other = world.wait_for_the_configuration("the one with the plugin", |found| name(found) != before);
    let other = name(&other);
    world.delete("criocredentialproviderconfig", "cluster");
    world.wait_for_the_configuration("the one without the plugin", |found| name(found) == before);
    let mut foreign = json!({
        "apiVersion": "pullwright.dev/v1alpha1", "kind": "NodeConfiguration", "metadata": {"name": other},
        "spec": {"runtime": "crio"},
    });
    world.apply_object(&foreign);
    let mark = world.mark();
    world.apply_object(&provider_config(&["quay.io"]));
    let message = world.wait_for_provider("MachineConfigRendered", "False", "ForeignObject");
    assert!(message.contains(other) && message.contains("app.kubernetes.io/managed-by"), "{message}");
    assert_eq!(world.get("nodeconfiguration", other).unwrap()["spec"], foreign["spec"].take());
    assert!(
        world.get("nodeconfiguration", before).is_some(),
        "the old one stays while the new one cannot be written: {}",
        shown(&world.writes_since(mark))
    );
    world.delete("nodeconfiguration", other);
    world.wait_for_provider("MachineConfigRendered", "True", "MachineConfigRenderingSucceeded");
    world.wait_for_the_configuration("the new one", |found| name(found) == other);
}

fn conditions_of_somebody_else_are_not_fought_over(world: &World) {
    world.writes_until_rest(world.mark());
    let mark = world.mark();
    let theirs = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "CRIOCredentialProviderConfig", "metadata": {"name": "cluster"},
        "status": {"conditions": [{
            "type": "Validated", "status": "False", "reason": "Other", "message": "theirs",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]},
    });
    let path = world.folder().join("theirs.json");
    std::fs::write(&path, theirs.to_string()).unwrap();
    let arguments = ["apply", "--server-side", "--force-conflicts", "--subresource=status", "--filename"];
    let manager = "--field-manager=machine-config-controller";
    world.kubectl(&[&arguments[..], &[path.to_str().unwrap(), manager]].concat());
    let writes = world.writes_until_rest(mark);
    assert!(writes.len() <= 2, "{}", shown(&writes));
    let found = world.condition("criocredentialproviderconfig", "cluster", "Validated").unwrap();
    assert_eq!(found["message"], "theirs");
    // Everything else goes on.
    world.apply_object(&provider_config(&["quay.io", "docker.io"]));
    world.wait_for_the_configuration("the other images", |found| found.to_string().contains("docker.io"));
    let writes = world.writes_until_rest(mark);
    assert!(
        of_kind(&writes, "criocredentialproviderconfigs.config.openshift.io").len() <= 8,
        "{}",
        shown(&writes)
    );
}
