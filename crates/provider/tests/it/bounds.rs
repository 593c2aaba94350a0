//! What whoever may write Secrets in a namespace can do to the node: nothing that depends on how much they write.

use crate::cluster::Cluster;
use crate::inputs::{auths, manifest, request, request_with, token};
use crate::plugin::Plugin;
use crate::stage::{IMAGE, MIRROR, MIRRORED, NAMESPACE, Stage};

/// What the plugin may have at once, of everything that it allocates.
const MEMORY: usize = 64 << 20;

/// A document as large as a Secret can hold, of entries that are none, and of one that names the mirror.
fn hostile() -> String {
    let entries: String = (0..100_000).map(|number| format!(",\"{number}\":0")).collect();
    format!("{{\"auths\":{{\"{MIRROR}\":{{}}{entries}}}}}")
}

/// Each of them took 55 MB when everything that is wrong was kept.
const NAMES: [&str; 4] = ["hostile-0", "hostile-1", "hostile-2", "hostile-3"];

fn hostile_namespace(cluster: &Cluster) {
    let document = hostile();
    for name in NAMES {
        cluster.put(name, &document);
    }
    cluster.put("pull", &auths(&[(MIRROR, "puller")]));
}

/// A plugin with as much time as there is: this is about memory, and tests share a machine.
fn plugin(cluster: &Cluster) -> Plugin {
    cluster.plugin().args(&["--api-timeout", "19"])
}

#[test]
fn a_hostile_namespace_takes_no_more_memory_than_another_when_it_is_listed() {
    for in_protobuf in [true, false] {
        let cluster = Cluster::new();
        cluster.allow(&["list"], "secrets", &[]);
        hostile_namespace(&cluster);
        if in_protobuf {
            cluster.api.speak_protobuf();
        }
        let ran = plugin(&cluster).with_memory(MEMORY).run(request(&cluster.token));
        cluster.wrote_for(&ran, "puller");
    }
}

#[test]
fn a_hostile_namespace_takes_no_more_memory_than_another_when_its_secrets_are_named() {
    let cluster = Cluster::new();
    cluster.allow(&["get"], "secrets", &[]);
    hostile_namespace(&cluster);
    let names = format!("{},pull", NAMES.join(","));
    let stdin = request_with(&cluster.token, &[("pullwright.dev/pull-secrets", &names)]);
    let ran = plugin(&cluster).args(&["--secrets", "named"]).with_memory(MEMORY).run(stdin);
    cluster.wrote_for(&ran, "puller");
}

#[test]
fn hostile_manifests_take_no_more_memory_than_others() {
    let stage = Stage::with_secret_on_the_node();
    for number in 0..3 {
        stage.write(&format!("secrets/a{number}.json"), &manifest(&format!("a{number}"), &hostile()));
    }
    let ran = stage.plugin_with_folder().with_memory(MEMORY).ask();
    assert!(ran.answered().1.starts_with("Wrote auth file to "), "{ran:?}");
    assert_eq!(stage.users_for(&[MIRRORED, IMAGE]), [Some("puller".to_owned()), None]);
    stage.write("request", &request(&token(NAMESPACE)));
    let check = stage.plugin_with_folder().args(&["check", "--request"]).arg(stage.path("request"));
    let ran = check.with_memory(MEMORY).run("");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.lines().count() <= 31 && ran.stderr.len() < 10_000, "{}", ran.stderr);
}

/// A key is shown wherever it is chosen, and each of its parts is a place in memory.
#[test]
fn keys_and_passwords_of_a_megabyte_take_no_more_memory_than_others() {
    let cluster = Cluster::new();
    cluster.allow(&["list"], "secrets", &[]);
    let mirrors: String =
        (0..300).map(|number| format!("[[registry.mirror]]\nlocation = \"{MIRROR}/{number}\"\n")).collect();
    cluster.stage.write("registries.conf", &format!("[[registry]]\nlocation = \"docker.io\"\n{mirrors}"));
    let entry = |key: &str, password: &str| {
        format!(r#"{{"auths":{{"{key}":{{"username":"u","password":"{password}"}}}}}}"#)
    };
    for number in 0..4 {
        cluster.put(&format!("a{number}"), &entry(&format!("{MIRROR}{}", "/a".repeat(450_000)), "p"));
        cluster.put(&format!("b{number}"), &entry(&format!("{MIRROR}{}", "/".repeat(900_000)), "p"));
        cluster.put(&format!("c{number}"), &entry(MIRROR, &"p".repeat(900_000)));
    }
    cluster.api.speak_protobuf();
    let ran = plugin(&cluster).with_memory(MEMORY).run(request(&cluster.token));
    assert!(ran.answered().1.ends_with(" with 3 number of entries"), "{ran:?}");
    let written = std::fs::metadata(cluster.stage.auth_file(NAMESPACE, IMAGE)).unwrap().len();
    assert!(written < 5 << 20, "{written} bytes");
}

/// What was left out is one line, however much it is.
#[test]
fn what_is_told_about_a_hostile_namespace_is_short() {
    let stage = Stage::with_secret_on_the_node();
    let entries: String = (0..10_100).map(|number| format!(",\"{number}\":0")).collect();
    let document = format!("{{\"auths\":{{\"{MIRROR}\":{{}}{entries}}}}}");
    for number in 0..10 {
        stage.write(&format!("secrets/a{number}.json"), &manifest(&format!("a{number}"), &document));
    }
    stage.write("request", &request(&token(NAMESPACE)));
    let ran = stage.plugin_with_folder().args(&["check", "--request"]).arg(stage.path("request")).run("");
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!((ran.code, lines.len()), (Some(0), 31), "{ran:?}");
    assert_eq!(lines[3], "passed over: Secret team-a/a0: 9997 more like these");
    assert_eq!(
        lines[30],
        "passed over: left out: 1010 entries of Secrets that have more than 10000; 10 more lines like those above; use \
         --secrets named, or smaller Secrets"
    );
}
