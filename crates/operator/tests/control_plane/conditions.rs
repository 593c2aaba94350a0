//! What the operator says on each object.

use crate::world::{Flavour, World, digest_mirror_set, eventually, provider_config};

#[test]
fn objects_become_files_and_say_so() {
    let world = World::new("objects_become_files_and_say_so", Flavour::Plain);
    world.nodes(&["a", "b"], "cri-o://1.36.3", "");
    let _replica = world.start("one", &["--lease=5"]);
    world.apply_object(&digest_mirror_set("vendor", "quay.io/vendor", &["mirror.local/vendor"]));
    world.apply_object(&provider_config(&["quay.io"]));
    world.wait_for_condition("imagedigestmirrorset", "vendor", "Applied", "True", "Applied");
    world.wait_for_condition("criocredentialproviderconfig", "cluster", "Validated", "True", "Succeeded");
    let written = world.wait_for_condition(
        "criocredentialproviderconfig",
        "cluster",
        "MachineConfigRendered",
        "True",
        "MachineConfigRenderingSucceeded",
    );
    let [configuration] = &eventually("one NodeConfiguration", || {
        let list = world.list("nodeconfigurations");
        if list.len() == 1 { Ok(list) } else { Err(format!("{} of them", list.len())) }
    })[..] else {
        unreachable!()
    };
    assert!(written.contains(configuration["metadata"]["name"].as_str().unwrap()), "{written}");
    let files = configuration["spec"]["files"].as_array().unwrap();
    assert_eq!(files[0]["path"], "/etc/containers/registries.conf.d/50-pullwright.conf");
    assert!(files[0]["content"].as_str().unwrap().contains("mirror.local/vendor"));
    let provider = configuration["spec"]["credentialProviderConfig"].as_str().unwrap();
    assert!(provider.contains("crio-credential-provider") && provider.contains("quay.io"), "{provider}");
    let nodes = world.wait_for_condition(
        "criocredentialproviderconfig",
        "cluster",
        "NodesUpdated",
        "False",
        "RollingOut",
    );
    assert_eq!(nodes, "0 of 2 nodes have it");
}
