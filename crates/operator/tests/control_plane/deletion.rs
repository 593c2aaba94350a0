//! What goes when objects go, and what an object that cannot be read does to the others.

use serde_json::{Value, json};

use crate::steps::{name, names};
use crate::world::{Flavour, World, digest_mirror_set, eventually, operator_manifest, provider_config};

#[test]
fn what_nobody_wants_any_more_goes_once_no_node_has_it() {
    let world = World::new("deletion", Flavour::Plain);
    world.nodes(&["a", "b"], "cri-o://1.36.3", "");
    let mut replica = world.start("one", &[]);
    world.apply_object(&digest_mirror_set("vendor", "quay.io/vendor", &["mirror.local/vendor"]));
    world.apply_object(&provider_config(&["quay.io"]));
    let with_plugin = |found: &Value| found["spec"].get("credentialProviderConfig").is_some();
    let old = world.wait_for_the_configuration("one with the plugin", with_plugin);
    let old = name(&old);
    for node in ["a", "b"] {
        world.report(node, Some(old), Some(old), "True");
    }
    world.wait_for_provider("NodesUpdated", "True", "AllNodes");

    world.delete("criocredentialproviderconfig", "cluster");
    let both = world.wait_for_configurations("one without the plugin", |found| found.len() == 2);
    let new = both.iter().find(|found| name(found) != old).unwrap();
    assert!(!with_plugin(new), "{new:#}");
    assert_eq!(new["spec"]["files"][0]["path"], "/etc/containers/registries.conf.d/50-pullwright.conf");
    let new = name(new);
    // One node has the new one; the other should have it and still has the old one.
    world.report("a", Some(new), Some(new), "True");
    world.report("b", Some(new), Some(old), "True");
    world.writes_until_rest(world.mark());
    assert_eq!(world.list("nodeconfigurations").len(), 2, "a node still has the old one");
    world.report("b", Some(new), Some(new), "True");
    world.wait_for_the_configuration("only the new one", |found| name(found) == new);

    world.delete("imagedigestmirrorset", "vendor");
    world.writes_until_rest(world.mark());
    assert_eq!(names(&world.list("nodeconfigurations")), [new], "the nodes still have it");
    for node in ["a", "b"] {
        world.delete("nodestate", node);
        world.report(node, None, None, "True");
    }
    world.wait_for_configurations("none", <[Value]>::is_empty);

    an_object_that_cannot_be_read_hurts_no_other(&world, &replica);
    the_program_answers_and_ends_in_order(&world, &mut replica);
}

fn an_object_that_cannot_be_read_hurts_no_other(world: &World, replica: &crate::world::Replica) {
    let kept = digest_mirror_set("kept", "docker.io/kept", &["mirror.local/kept"]);
    world.apply_object(&kept);
    world.wait_for_condition("imagedigestmirrorset", "kept", "Applied", "True", "Applied");
    // A later version of the definition lets something pass that this version of the operator does not know.
    let definition = "imagedigestmirrorsets.config.openshift.io";
    let loose = json!([{
        "op": "replace",
        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec",
        "value": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }]);
    world.kubectl(&["patch", "crd", definition, "--type=json", "--patch", &loose.to_string()]);
    let mut strange = digest_mirror_set("strange", "", &[]);
    strange["spec"] = json!({"imageDigestMirrors": "all of them"});
    // The API server takes a moment to know the new definition.
    eventually("the API server to take it", || world.plane.kubectl().apply(&strange.to_string()));
    let note = world.wait_for_event("ImageDigestMirrorSet", "strange", "Unparsable");
    assert!(note.contains("cannot be read"), "{note}");
    replica.wait_for_metric(
        "pullwright_operator_objects{kind=\"ImageDigestMirrorSet\",state=\"unparsable\"}",
        |value| (value - 1.0).abs() < 0.1,
    );
    // One that could be read and no longer can counts as it last was.
    let mut broken = kept;
    broken["spec"] = strange["spec"].clone();
    world.apply_object(&broken);
    world.wait_for_event("ImageDigestMirrorSet", "kept", "Unparsable");
    world.apply_object(&digest_mirror_set("good", "quay.io/good", &["mirror.local/good"]));
    world.wait_for_condition("imagedigestmirrorset", "good", "Applied", "True", "Applied");
    let both = |found: &Value| {
        let text = found.to_string();
        text.contains("mirror.local/good") && text.contains("mirror.local/kept")
    };
    world.wait_for_the_configuration("the others to be delivered", both);
    for name in ["strange", "kept"] {
        assert_eq!(world.events("ImageDigestMirrorSet", name).len(), 1, "it is said once");
    }
}

fn the_program_answers_and_ends_in_order(world: &World, replica: &mut crate::world::Replica) {
    assert_eq!(replica.get("/healthz").unwrap(), (200, "ok\n".to_owned()));
    assert_eq!(replica.get("/readyz").unwrap(), (200, "ok\n".to_owned()));
    assert_eq!(replica.get("/").unwrap().0, 404);
    let (status, metrics) = replica.get("/metrics").unwrap();
    assert_eq!(status, 200);
    assert!(metrics.contains("\npullwright_operator_leads 1\n") && metrics.ends_with("# EOF\n"), "{metrics}");
    let holder = || {
        let arguments = ["get", "lease", "pullwright-operator", "--namespace=pullwright-system"];
        let lease = world.plane.kubectl().json(&arguments).unwrap();
        lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    };
    assert!(holder().starts_with("one_"), "{}", holder());
    let status = replica.process.terminate(std::time::Duration::from_secs(20)).unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(holder(), "", "the next replica need not wait");
    assert!(!replica.process.log().text().contains("panicked"));
    // A replica that may not read what it needs says so, and does not pretend to be ready.
    world.kubectl(&["delete", "clusterrolebinding", "pullwright-operator"]);
    let blind = world.start("blind", &[]);
    eventually("the replica not to be ready", || {
        let (status, text) = blind.get("/readyz").map_err(|error| error.to_string())?;
        if status == 503 && text.contains("ImageDigestMirrorSet") { Ok(()) } else { Err(text) }
    });
    assert_eq!(blind.get("/healthz").unwrap().0, 200, "a restart would not help");
    let mark = world.mark();
    world.apply(&operator_manifest("rbac"));
    eventually("the replica to be ready", || {
        let (status, text) = blind.get("/readyz").map_err(|error| error.to_string())?;
        if status == 200 { Ok(()) } else { Err(text) }
    });
    // Nothing has changed, except that it cannot know any more what the unreadable object once was.
    let writes = world.writes_until_rest(mark);
    assert!(writes.len() <= 4, "{}", crate::steps::shown(&writes));
}
