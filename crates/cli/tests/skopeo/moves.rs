//! From other formats: after `migrate` and `import`, pulls ask whom they asked before.

use std::fs;

use crate::lab::Lab;

#[test]
fn a_migrated_policy_is_the_same_file_and_the_same_registries_are_asked() {
    let lab = Lab::with(&["hub.test/team/app"]);
    let old = lab.copy("manifests/a-content-source-policy.yaml", "old.yaml");
    let set = lab.copy("manifests/a-digest-set-beside-a-content-source-policy.yaml", "set.yaml");
    let migrated = lab.path("migrated");
    lab.pullwright(&["migrate", "icsp", &old, "--dest-dir", &migrated]);

    // As a migration goes: the new object is applied, then the old one deleted.
    let before = lab.pullwright(&["render", &old, &set]);
    assert_eq!(lab.pullwright(&["render", &old, &set, &migrated]), before);
    let after = lab.pullwright(&["render", &set, &migrated]);
    assert_eq!(after, before);
    assert_eq!(
        lab.pull(&after, "hub.test/team/app@DIGEST").succeeds(),
        [
            "404 mirror-1.test/team/app@DIGEST",
            "404 mirror-2.test/team/app@DIGEST",
            "404 mirror-3.test/hub/team/app@DIGEST",
            "200 hub.test/team/app@DIGEST",
        ]
    );
    assert_eq!(lab.pull(&after, "hub.test/team/app:1").succeeds(), ["200 hub.test/team/app:1"]);
}

/// The registries.conf of what `import` makes of a path.
fn import(lab: &Lab, path: &str) -> String {
    let imported = lab.path("imported.yaml");
    fs::write(&imported, lab.pullwright(&["import", path])).unwrap();
    lab.pullwright(&["render", &imported])
}

/// The same from containerd's folder.
fn import_hosts(lab: &Lab, fixture: &str) -> String {
    // containerd writes a port so.
    let folder = lab.address("hub.test").replace(':', "_");
    lab.copy(&format!("imports/{fixture}"), &format!("certs.d/{folder}_/hosts.toml"));
    import(lab, &lab.path("certs.d"))
}

#[test]
fn imported_hosts_are_asked_in_their_order_each_for_what_it_can() {
    let lab = Lab::with(&["hub.test/team/app"]);
    let conf = import_hosts(&lab, "hosts-of-each-kind-before-the-server.toml");
    assert_eq!(
        lab.pull(&conf, "hub.test/team/app@DIGEST").succeeds(),
        [
            "404 mirror-1.test/team/app@DIGEST",
            "404 mirror-2.test/hub/team/app@DIGEST",
            "404 plain.test/team/app@DIGEST",
            "200 hub.test/team/app@DIGEST",
        ]
    );
    assert_eq!(
        lab.pull(&conf, "hub.test/team/app:1").succeeds(),
        ["404 mirror-2.test/hub/team/app:1", "404 plain.test/team/app:1", "200 hub.test/team/app:1"]
    );
}

#[test]
fn an_imported_server_that_is_not_pulled_from_is_not_contacted() {
    let lab = Lab::with(&["hub.test/team/app"]);
    let conf = import_hosts(&lab, "a-server-that-is-not-pulled-from.toml");
    assert_eq!(
        lab.pull(&conf, "hub.test/team/app@DIGEST").fails_blocked_by("hub.test"),
        ["404 mirror-1.test/team/app@DIGEST"]
    );
    assert_eq!(
        lab.pull(&conf, "hub.test/team/app:1").fails_blocked_by("hub.test"),
        ["404 mirror-1.test/team/app:1"]
    );
}

#[test]
fn imported_endpoints_of_k3s_are_asked_for_rewritten_names() {
    let lab = Lab::with(&["hub.test/team/app", "hub.test/other/app"]);
    let conf = import(&lab, &lab.copy("imports/endpoints-and-a-rewrite-of-k3s.yaml", "registries.yaml"));
    assert_eq!(
        lab.pull(&conf, "hub.test/team/app:1").succeeds(),
        ["404 mirror-1.test/ours/app:1", "404 plain.test/ours/app:1", "200 hub.test/team/app:1"]
    );
    assert_eq!(
        lab.pull(&conf, "hub.test/other/app@DIGEST").succeeds(),
        [
            "404 mirror-1.test/other/app@DIGEST",
            "404 plain.test/other/app@DIGEST",
            "200 hub.test/other/app@DIGEST",
        ]
    );
}
