//! What `CRIOCredentialProviderConfig` says about itself: whether it is valid, whether it is on its way, and which nodes have it.

use serde_json::Value;

use crate::steps::{name, plugin_images};
use crate::world::{Flavour, World, digest_mirror_set, eventually, provider_config};

#[test]
fn objects_become_files_and_say_so() {
    let world = World::new("objects_become_files_and_say_so", Flavour::Plain);
    let _replica = world.start("one", &[]);
    world.apply_object(&digest_mirror_set("vendor", "quay.io/vendor", &["mirror.local/vendor"]));
    world.apply_object(&provider_config(&["quay.io"]));
    world.wait_for_condition("imagedigestmirrorset", "vendor", "Applied", "True", "Applied");
    let message = world.wait_for_provider("Validated", "True", "Succeeded");
    assert_eq!(message, "the kubelets ask the plugin for 1 entry");
    let message = world.wait_for_provider("NodesUpdated", "Unknown", "NoNodes");
    assert_eq!(message, "0 of 0 nodes have it");
    assert!(world.list("nodeconfigurations").is_empty(), "no node needs one");

    world.nodes(&["a", "b"], "cri-o://1.36.3", "");
    let configuration = world.wait_for_the_configuration("one NodeConfiguration", |_| true);
    let written = format!("written to {}", name(&configuration));
    world.wait_for_provider_message("MachineConfigRendered", &written);
    world.wait_for_provider("MachineConfigRendered", "True", "MachineConfigRenderingSucceeded");
    let files = configuration["spec"]["files"].as_array().unwrap();
    assert_eq!(files[0]["path"], "/etc/containers/registries.conf.d/50-pullwright.conf");
    assert!(files[0]["content"].as_str().unwrap().contains("mirror.local/vendor"));
    assert_eq!(images(&configuration), ["quay.io"]);

    let message = world.wait_for_provider("NodesUpdated", "False", "RollingOut");
    assert_eq!(message, "0 of 2 nodes have it");
    let since = || {
        let found = world.condition("criocredentialproviderconfig", "cluster", "NodesUpdated").unwrap();
        found["lastTransitionTime"].clone()
    };
    let rolling_out_since = since();
    let wanted = Some(name(&configuration));
    world.report("a", wanted, wanted, "True");
    world.report("b", wanted, None, "False");
    let stopped = "1 of 2 nodes have it, and 1 could not take it, so no other node gets it: b (RolledBack)";
    world.wait_for_provider_message("NodesUpdated", stopped);
    world.wait_for_provider("NodesUpdated", "False", "NodesFailed");
    assert_eq!(since(), rolling_out_since, "the status is still False");
    world.report("b", wanted, wanted, "True");
    let message = world.wait_for_provider("NodesUpdated", "True", "AllNodes");
    assert_eq!(message, "2 of 2 nodes have it");

    // The API takes this entry; it would match every host of one label.
    world.apply_object(&provider_config(&["*:5000", "quay.io", "*.example.com"]));
    let message = world.wait_for_provider("Validated", "False", "ValidationFailed");
    assert!(message.contains("\"*:5000\"") && !message.contains("quay.io"), "{message}");
    let changed = world.wait_for_configurations("a second NodeConfiguration", |found| found.len() == 2);
    let changed = changed.iter().find(|found| Some(name(found)) != wanted).unwrap();
    assert_eq!(images(changed), ["*.example.com", "quay.io"]);
    let message = world.wait_for_provider("NodesUpdated", "False", "RollingOut");
    assert_eq!(message, "0 of 2 nodes have it");

    clouds_keep_the_images_of_their_own_providers(&world);
}

/// A cloud, its provider, the entries, and which of them conflict with which pattern.
struct Cloud {
    provider_id: &'static str,
    provider: &'static str,
    images: &'static [&'static str],
    conflicts: &'static [(&'static str, &'static str)],
}

/// Each list has entries that only look as if they overlapped, and entries of the other clouds.
const CLOUDS: [Cloud; 3] = [
    Cloud {
        provider_id: "aws:///us-east-1a/i-0123",
        provider: "ecr-credential-provider",
        images: &[
            "docker.io",
            "123456789.dkr.ecr.us-east-1.amazonaws.com",
            "*.azurecr.io",
            "gcr.io",
            "*.*.registry.io",
            "registry.io:8080/path",
            "*.com",
            "*.amazonaws.com",
            "*.dkr.ecr.*.amazonaws.com",
            "*.*.*.*.*.cn",
            "*.gov",
            "*.cn",
        ],
        conflicts: &[
            ("*.dkr.ecr.*.amazonaws.com", "*.dkr.ecr.*.amazonaws.com"),
            ("123456789.dkr.ecr.us-east-1.amazonaws.com", "*.dkr.ecr.*.amazonaws.com"),
        ],
    },
    Cloud {
        provider_id: "gce://project/zone/name",
        provider: "gcr-credential-provider",
        images: &[
            "gcr.io",
            "myhost.com",
            "*.cloud.google.com",
            "quay.io",
            "*.gcr.io",
            "*.pkg.dev",
            "gcr.io:443",
            "gcr.io/proj",
            "us-docker.pkg.dev/p",
            "*.io",
            "*.com",
            "google.com",
            "*.azurecr.io",
        ],
        conflicts: &[
            ("*.cloud.google.com", "container.cloud.google.com"),
            ("*.gcr.io", "*.gcr.io"),
            ("*.io", "gcr.io"),
            ("*.pkg.dev", "*.pkg.dev"),
            ("gcr.io", "gcr.io"),
            ("gcr.io/proj", "gcr.io"),
            ("us-docker.pkg.dev/p", "*.pkg.dev"),
        ],
    },
    Cloud {
        provider_id: "azure:///subscriptions/x/y",
        provider: "acr-credential-provider",
        images: &[
            "myacr.azurecr.io",
            "*.azurecr.io",
            "azurecr.io",
            "myacr.azurecr.io:443/x",
            "*.*.azurecr.io",
            "gcr.io",
            "123456789.dkr.ecr.us-east-1.amazonaws.com",
        ],
        conflicts: &[("*.azurecr.io", "*.azurecr.io"), ("myacr.azurecr.io", "*.azurecr.io")],
    },
];

fn clouds_keep_the_images_of_their_own_providers(world: &World) {
    for node in ["a", "b"] {
        world.delete("node", node);
        world.delete("nodestate", node);
    }
    for cloud in &CLOUDS {
        world.nodes(&["cloudy"], "cri-o://1.36.3", cloud.provider_id);
        world.apply_object(&provider_config(cloud.images));
        let provider = cloud.provider;
        let conflicts: Vec<String> = cloud
            .conflicts
            .iter()
            .map(|(entry, pattern)| {
                format!(
                    "{entry:?} conflicts with {pattern:?} of provider {provider}, which keeps these images"
                )
            })
            .collect();
        let message = format!("these entries of matchImages have no effect: {}", conflicts.join("; "));
        world.wait_for_provider_message("Validated", &message);
        world.wait_for_provider("Validated", "False", "ConfigurationPartiallyApplied");
        let left_out = |image: &&&str| cloud.conflicts.iter().any(|(entry, _)| entry == *image);
        let mut kept: Vec<&str> = cloud.images.iter().filter(|image| !left_out(image)).copied().collect();
        kept.sort_unstable();
        // Beside it is the one that all nodes had last, for nodes that join.
        world.wait_for_configurations("the entries without conflicts", |found| {
            found.iter().any(|one| images(one) == kept)
        });
        world.delete("node", "cloudy");
    }
    // A cluster with nodes in all three gets the conflicts of all three.
    for (node, cloud) in ["x", "y", "z"].iter().zip(&CLOUDS) {
        world.nodes(&[node], "cri-o://1.36.3", cloud.provider_id);
    }
    let all = ["gcr.io", "myacr.azurecr.io", "1.dkr.ecr.eu-west-1.amazonaws.com", "quay.io"];
    world.apply_object(&provider_config(&all));
    eventually("conflicts with all three", || {
        let message = world.wait_for_provider("Validated", "False", "ConfigurationPartiallyApplied");
        let all = CLOUDS.iter().all(|cloud| message.contains(cloud.provider));
        if all { Ok(()) } else { Err(message) }
    });
    world.wait_for_configurations("what is left", |found| found.iter().any(|one| images(one) == ["quay.io"]));
}

fn images(configuration: &Value) -> Vec<String> {
    plugin_images(configuration["spec"]["credentialProviderConfig"].as_str().unwrap_or("providers: []"))
}
