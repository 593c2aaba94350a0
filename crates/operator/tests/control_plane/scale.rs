//! A thousand mirror sets: what they cost when they come, at rest, and when one of them changes.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::steps::{of_kind, shown};
use crate::world::{Flavour, World, digest_mirror_set, eventually, provider_config};

const SETS: usize = 1000;

#[test]
fn a_thousand_mirror_sets_converge_with_few_writes() {
    let world = World::new("scale", Flavour::Plain);
    world.nodes(&["a", "b"], "cri-o://1.36.3", "");
    let replica = world.start("one", &[]);
    replica.wait_for_metric("pullwright_operator_leads", |leads| leads > 0.5);
    let mark = world.mark();
    let begun = Instant::now();
    let images: Vec<String> = (0..50).map(|image| format!("registry-{image}.example.com")).collect();
    let images: Vec<&str> = images.iter().map(String::as_str).collect();
    let sets = (0..SETS).map(|set| {
        digest_mirror_set(&format!("set-{set}"), &format!("quay.io/vendor-{set}"), &["mirror.local/vendor"])
    });
    world.plane.create_many(sets.chain([provider_config(&images)])).unwrap();
    let applied_in = begun.elapsed();
    eventually("all to say that they are applied", || {
        let sets = world.list("imagedigestmirrorsets");
        let said = sets.iter().filter(|set| set["status"]["conditions"][0]["reason"] == "Applied").count();
        if said == SETS { Ok(()) } else { Err(format!("{said} of {SETS} do")) }
    });
    let said_in = begun.elapsed();
    let writes = world.writes_until_rest(mark);
    let delivery = of_kind(&writes, "nodeconfigurations.pullwright.dev").len();
    let statuses = of_kind(&writes, "imagedigestmirrorsets.config.openshift.io").len();
    let provider = of_kind(&writes, "criocredentialproviderconfigs.config.openshift.io").len();
    println!(
        "applied in {applied_in:?}, said in {said_in:?}, {delivery} writes of NodeConfigurations, {statuses} of statuses, {provider} of CRIOCredentialProviderConfig"
    );
    assert_eq!(statuses, SETS, "each is told once: {}", tail(&shown(&writes)));
    // The pass runs while objects still come, so there are a few configurations in between, each with its deletion.
    assert!(delivery <= 20, "{delivery} writes");
    assert!(provider <= 12, "{provider} writes");
    let configuration = world.wait_for_the_configuration("one NodeConfiguration", |_| true).to_string();
    assert!(configuration.contains("vendor-999") && configuration.contains("registry-49.example.com"));

    // At rest, nothing is written.
    let mark = world.mark();
    sleep(Duration::from_secs(10));
    let writes = world.writes_since(mark);
    assert!(writes.is_empty(), "{}", shown(&writes));

    // A change costs what it changes.
    let mark = world.mark();
    world.apply_object(&digest_mirror_set("set-7", "quay.io/vendor-7", &["mirror.local/other"]));
    world.wait_for_the_configuration("the change", |found| found.to_string().contains("mirror.local/other"));
    let writes = world.writes_until_rest(mark);
    let mut kinds: Vec<(&str, &str)> =
        writes.iter().map(|write| (&*write.verb, write.resource.as_deref().unwrap_or_default())).collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        [
            ("delete", "nodeconfigurations.pullwright.dev"),
            ("patch", "criocredentialproviderconfigs.config.openshift.io"),
            ("patch", "imagedigestmirrorsets.config.openshift.io"),
            ("patch", "nodeconfigurations.pullwright.dev"),
        ]
    );
}

fn tail(text: &str) -> &str {
    &text[text.len().saturating_sub(2000)..]
}
