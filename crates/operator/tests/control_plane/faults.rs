//! The API server goes away, forgets its history, or loses a kind: replicas recover by themselves, and no configuration is taken away.

use std::thread;
use std::time::Duration;

use pullwright_testkit::control_plane::AuditEntry;
use pullwright_testkit::process::Signal;

use crate::sets::{Sets, tag_mirror_set};
use crate::world::{Flavour, World, eventually};
use crate::writers::assert_one_writer;

/// The writes of `NodeConfiguration`s among these, as verbs.
fn deliveries(entries: &[AuditEntry]) -> Vec<&str> {
    let delivery =
        |entry: &&AuditEntry| entry.resource.as_deref() == Some("nodeconfigurations.pullwright.dev");
    entries.iter().filter(delivery).filter(|entry| entry.succeeded()).map(|entry| &*entry.verb).collect()
}

#[test]
fn what_the_api_server_does_not_say_is_not_taken_for_absent() {
    let world = World::new("api_server_away", Flavour::Plain);
    world.nodes(&["a"], "cri-o://1.36.3", "");
    let replicas = ["one", "two"].map(|name| world.start(name, &["--lease=5"]));
    let mut sets = Sets::default();
    for name in ["a", "b", "c"] {
        sets.apply(&world, name, "m");
    }
    sets.wait_until_delivered(&world);

    // The API server is away for a minute.
    let mark = world.mark();
    world.plane.stop_api_server();
    thread::sleep(Duration::from_mins(1));
    world.plane.start_api_server().unwrap();
    sets.apply(&world, "a", "changed");
    sets.wait_until_delivered(&world);
    // Had a kind looked empty for a moment, there would be more.
    assert_eq!(deliveries(&world.writes_since(mark)), ["patch", "delete"]);
    for replica in &replicas {
        let ended = replica.process.exits();
        assert!(
            ended.iter().all(|status| status.code() == Some(3)),
            "it ended for another reason: {ended:?}"
        );
    }

    // While nobody looks, objects come and go, and etcd forgets how.
    let lives = replicas.each_ref().map(|replica| replica.process.id().unwrap());
    for replica in &replicas {
        replica.process.signal(Signal::STOP).unwrap();
    }
    sets.delete(&world, "b");
    sets.apply(&world, "d", "m");
    world.plane.stop_api_server();
    world.plane.compact().unwrap();
    world.plane.start_api_server().unwrap();
    for replica in &replicas {
        replica.process.signal(Signal::CONT).unwrap();
    }
    sets.wait_until_delivered(&world);
    // The one that led may have ended, since its lease was over; the other one goes on from what it knew.
    let went_on = replicas.iter().zip(lives).filter(|(replica, life)| replica.process.id().unwrap() == *life);
    assert!(
        went_on.count() >= 1,
        "nobody went on: {:?}",
        replicas.each_ref().map(|replica| replica.process.exits())
    );

    // A kind is taken out of the cluster, and comes back.
    let definition = "imagetagmirrorsets.config.openshift.io";
    world.apply_object(&tag_mirror_set("tags", "quay.io/tags", &["tags.local/tags"]));
    world.wait_for_condition("imagetagmirrorsets", "tags", "Applied", "True", "Applied");
    let with_tags = configuration(&world, |files| files.contains("tags.local/tags"));
    let mark = world.mark();
    world.kubectl(&["delete", "crd", definition]);
    let without_tags = configuration(&world, |files| !files.contains("tags.local/tags"));
    sets.wait_until_delivered(&world);
    assert_ne!(with_tags, without_tags);
    assert_eq!(deliveries(&world.writes_since(mark)), ["patch", "delete"]);
    sets.apply(&world, "e", "while-it-is-gone");
    sets.wait_until_delivered(&world);
    world.apply(&crate::world::definition(definition));
    world.kubectl(&["wait", "--for=condition=Established", "--timeout=120s", "crd", definition]);
    world.apply_object(&tag_mirror_set("tags", "quay.io/tags", &["tags.local/tags"]));
    world.wait_for_condition("imagetagmirrorsets", "tags", "Applied", "True", "Applied");
    configuration(&world, |files| files.contains("tags.local/tags") && files.contains("while-it-is-gone"));
    assert_one_writer(&world.plane.audit_log().entries().unwrap(), 10);
}

/// Waits until there is one `NodeConfiguration` whose files are so, and returns its name.
fn configuration(world: &World, so: impl Fn(&str) -> bool) -> String {
    eventually("the files to change", || {
        let list = world.list("nodeconfigurations");
        let [only] = &list[..] else { return Err(format!("{} NodeConfigurations", list.len())) };
        let files = only["spec"]["files"].to_string();
        if so(&files) { Ok(only["metadata"]["name"].to_string()) } else { Err(files) }
    })
}
