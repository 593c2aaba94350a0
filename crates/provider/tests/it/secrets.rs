//! Secrets as people write them: broken, doubled, named, in a folder.

use pullwright_engine::kubelet::{ApiVersion, Request};

use crate::inputs::{auths, manifest};
use crate::stage::{IMAGE, MIRROR, MIRRORED, Stage};

fn some(users: &[&str]) -> Vec<Option<String>> {
    users.iter().map(|&user| Some(user.to_owned())).collect()
}

#[test]
fn a_broken_secret_hurts_only_itself() {
    let stage = Stage::new();
    stage.write("secrets/a.json", &manifest("a", "{\"auths\":"));
    stage.write("secrets/b.json", &manifest("b", "{\"auths\":{\"mirror.example:5000\":{\"auth\":\"?\"}}}"));
    stage.write("secrets/c.json", "not a manifest: [");
    stage.write("secrets/d.yaml", "kind: Secret\nmetadata: {name: d}\ntype: Opaque\n");
    stage.write("secrets/e.json", &manifest("e", &auths(&[(MIRROR, "good")])));
    let ran = stage.plugin_with_folder().ask();
    assert!(ran.answered().1.ends_with(" with 1 number of entries"), "{ran:?}");
    assert_eq!(stage.users_for(&[MIRRORED]), some(&["good"]));
}

#[test]
fn only_broken_secrets_are_as_good_as_none() {
    let stage = Stage::new();
    stage.write("secrets/a.json", &manifest("a", "broken"));
    let none = "None of 0 secret(s) of the namespace fits, will not write any auth file";
    stage.plugin_with_folder().ask().answered_nothing(none);
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn a_secret_for_another_host_is_not_copied_to_the_disk() {
    let stage = Stage::new();
    let near =
        [("mirror.example", "a"), ("mirror.example:500", "b"), ("example:5000", "c"), ("quay.io", "d")];
    stage.write("secrets/a.json", &manifest("a", &auths(&near)));
    let none = "None of 1 secret(s) of the namespace fits, will not write any auth file";
    stage.plugin_with_folder().ask().answered_nothing(none);
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn of_two_secrets_for_one_host_the_first_valid_one_is_used() {
    let stage = Stage::new();
    stage.write("secrets/1.json", &manifest("z", "{\"auths\":{\"mirror.example:5000\":{}}}"));
    stage.write("secrets/2.json", &manifest("y", &auths(&[(MIRROR, "first")])));
    stage.write("secrets/3.json", &manifest("x", &auths(&[(MIRROR, "second")])));
    assert!(stage.plugin_with_folder().ask().answered().1.starts_with("Wrote auth file to "));
    assert_eq!(stage.users_for(&[MIRRORED]), some(&["first"]));
}

#[test]
fn two_mirrors_each_get_their_own() {
    let stage = Stage::new();
    stage.write(
        "registries.conf",
        "[[registry]]\nlocation = \"docker.io\"\n\
         [[registry.mirror]]\nlocation = \"one.example\"\n\
         [[registry.mirror]]\nlocation = \"two.example/hub\"\n",
    );
    stage.write(
        "secrets/1.json",
        &manifest("a", &auths(&[("one.example", "one"), ("unrelated.example", "x")])),
    );
    stage
        .write("secrets/2.json", &manifest("b", &auths(&[("two.example/hub", "two"), ("docker.io", "hub")])));
    assert!(stage.plugin_with_folder().ask().answered().1.ends_with(" with 3 number of entries"));
    let sources = ["one.example/library/nginx", "two.example/hub/library/nginx", IMAGE];
    assert_eq!(stage.users_for(&sources), some(&["one", "two", "hub"]));
    let file = std::fs::read_to_string(stage.auth_file("team-a", IMAGE)).unwrap();
    assert!(!file.contains("unrelated"), "{file}");
}

#[test]
fn a_folder_of_manifests_serves_pods_without_a_token() {
    let stage = Stage::new();
    let other = manifest("other", &auths(&[(MIRROR, "other")]))
        .replace("\"name\"", "\"namespace\":\"other\",\"name\"");
    stage.write("secrets/1.json", &other);
    let list = format!("{{\"kind\":\"List\",\"items\":[{}]}}", manifest("a", &auths(&[(MIRROR, "static")])));
    stage.write("secrets/2.yml", &list);
    stage.write("secrets/ignored.txt", "not a manifest");
    let anonymous = Request::anonymous(ApiVersion::V1Beta1, IMAGE).render();
    let plugin = stage.plugin_with_folder().args(&["--namespace-without-token", "team-a"]);
    let ran = plugin.run(anonymous);
    let (response, said) = ran.answered_in(ApiVersion::V1Beta1);
    assert!(said.starts_with("Wrote auth file to ") && response.auth.contains_key(IMAGE), "{ran:?}");
    assert_eq!(stage.users_for(&[MIRRORED]), some(&["static"]));
}

/// The token says more than the option: a Pod with a token is not a static one.
#[test]
fn a_token_wins_over_the_namespace_for_pods_without_one() {
    let stage = Stage::with_secret_on_the_node();
    let plugin = stage.plugin_with_folder().args(&["--namespace-without-token", "kube-system"]);
    assert!(plugin.ask().answered().1.starts_with("Wrote auth file to "));
    assert_eq!(stage.users_for(&[MIRRORED]), some(&["puller"]));
}

#[test]
fn a_folder_that_is_not_there_is_reported() {
    let stage = Stage::new();
    std::fs::remove_dir(stage.path("secrets")).unwrap();
    let ran = stage.plugin_with_folder().ask();
    assert!(ran.failed().starts_with("cannot list the folder of Secrets "), "{ran:?}");
}
