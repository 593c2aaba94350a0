//! `registries.yaml`, in and out.

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::render::conf;
use crate::containerd::asked::Asking;
use crate::containerd::host_of_folder;
use crate::containerd::k3s::{File, Registries, render};
use crate::mirrors::{MergeInputs, merge};
use crate::registries::{ConfFile, RegistriesConf};

fn rules(document: &Value) -> Vec<String> {
    let imported = Registries::read(document).unwrap().import().imported();
    let sets = imported.sets("x");
    let each = sets.iter().flat_map(|set| set.rules.iter().map(move |rule| (set.kind.rules_field(), rule)));
    each.map(|(field, rule)| format!("{field} {}: {}", rule.source, rule.mirrors.join(" "))).collect()
}

fn told(document: &Value) -> Vec<String> {
    let imported = Registries::read(document).unwrap().import().imported();
    imported.findings.iter().map(|(_, finding)| format!("{} {}", finding.rule.name(), finding.at)).collect()
}

#[test]
fn endpoints_are_mirrors_by_tag_and_by_digest() {
    let document = json!({"mirrors": {
        "docker.io": {"endpoint": ["https://a.io:5000", "https://b.io/v2/hub", "https://registry-1.docker.io"]},
        "quay.io": {"endpoint": []},
        "ghcr.io": null,
    }});
    assert_eq!(
        rules(&document),
        ["imageDigestMirrors docker.io: a.io:5000 b.io/hub", "imageTagMirrors docker.io: a.io:5000 b.io/hub",]
    );
    assert_eq!(told(&document), [""; 0]);
}

#[test]
fn rewrites_of_whole_paths_become_rules_of_their_own() {
    let document = json!({"mirrors": {"docker.io": {
        "endpoint": ["https://a.io", "https://docker.io"],
        "rewrite": {"^rancher/(.*)$": "mirror/rancher/$1", "^library/(.*)": "hub/$1"},
    }}});
    assert_eq!(
        rules(&document)[..3],
        [
            "imageDigestMirrors docker.io: a.io",
            "imageDigestMirrors docker.io/library: a.io/hub",
            "imageDigestMirrors docker.io/rancher: a.io/mirror/rancher",
        ]
    );
    let everything =
        json!({"mirrors": {"docker.io": {"endpoint": ["https://a.io"], "rewrite": {"^(.*)$": "hub/$1"}}}});
    assert_eq!(rules(&everything)[0], "imageDigestMirrors docker.io: a.io/hub");
}

#[test]
fn mirrors_with_other_rewrites_are_left_out_and_told() {
    for rewrite in [json!({"(.*)x": "$1"}), json!({"^a/(.*)": "b/$1", "^a/c/(.*)": "d/$1"})] {
        let document = json!({"mirrors": {"docker.io": {"endpoint": ["https://a.io"], "rewrite": rewrite}}});
        assert_eq!(rules(&document), [""; 0]);
        assert!(told(&document)[0].starts_with("k3s/rewrite mirrors.docker.io.rewrite."));
    }
}

#[test]
fn credentials_stay_where_they_are() {
    let document = json!({
        "mirrors": {"quay.io": {"endpoint": ["a.io:5000"]}, "*": {"endpoint": ["ftp://u:hunter2@b.io"]}},
        "configs": {
            "a.io:5000": {
                "auth": {"username": "u", "password": "hunter2"},
                "tls": {"insecure_skip_verify": true, "ca_file": "/ca.pem"},
            },
        },
        "auths": {"https://c.io": {"auth": "dTpodW50ZXIy"}},
        "mirror": {},
    });
    let registries = Registries::read(&document).unwrap();
    assert!(registries.findings().iter().all(|finding| !finding.message.contains("hunter2")));
    assert!(!format!("{registries:?}").contains("hunter2"));
    let imported = registries.import().imported();
    assert_eq!(imported.sources.insecure, ["a.io:5000"]);
    assert_eq!(
        told(&document),
        [
            "k3s/unknown-key mirror",
            "k3s/credentials configs.a.io:5000.auth",
            "k3s/credentials auths",
            "k3s/endpoint mirrors.*.endpoint[0]",
            "import/all-registries mirrors.*",
            "import/settings configs.a.io:5000.tls",
            "import/settings mirrors.quay.io.endpoint[0]",
        ]
    );
}

#[test]
fn another_type_than_k3s_takes_is_refused_with_its_place() {
    let refused = |document: Value| {
        let error = Registries::read(&document).unwrap_err();
        format!("{}: {error}", error.at)
    };
    assert_eq!(refused(json!([])), ": expected a map");
    assert_eq!(refused(json!({"mirrors": {"a.io": ["https://b.io"]}})), "mirrors.a.io: expected a map");
    assert_eq!(
        refused(json!({"mirrors": {"a.io": {"endpoint": "https://b.io"}}})),
        "mirrors.a.io.endpoint: expected a list"
    );
    assert_eq!(
        refused(json!({"configs": {"a.io": {"tls": {"insecure_skip_verify": "yes"}}}})),
        "configs.a.io.tls.insecure_skip_verify: expected true or false"
    );
}

#[test]
fn a_configuration_becomes_this_file() {
    let rendered = render(
        &conf(
            "[[registry]]\nlocation = 'docker.io'\n[[registry.mirror]]\nlocation = 'a.io/hub'\n\
             [[registry.mirror]]\nlocation = '127.0.0.1:5000'\ninsecure = true\n\
             [[registry]]\nlocation = 'plain.io:5000'\ninsecure = true\n[[registry]]\nlocation = 'quay.io'\n",
        ),
        &[],
    );
    assert_eq!(
        rendered.text,
        "# Written by pullwright from registries.conf; change that file instead.\nmirrors:\n  \"docker.io\":\n    endpoint:\n      \
         - \"https://a.io/v2/hub\"\n      - \"http://127.0.0.1:5000\"\n  \"plain.io:5000\":\n    endpoint:\n      - \"http://plain.io:5000\"\n\
         configs:\n  \"127.0.0.1:5000\":\n    tls:\n      insecure_skip_verify: true\n  \"plain.io:5000\":\n    tls:\n      \
         insecure_skip_verify: true\n"
    );
    assert_eq!(rendered.findings, []);
}

fn mirror() -> impl Strategy<Value = String> {
    let location = prop::sample::select(vec!["a.io", "b.io:5000", "c.io/x", "quay.io", "docker.io"]);
    (location, any::<bool>()).prop_map(|(location, insecure)| {
        format!("[[registry.mirror]]\nlocation = '{location}'\ninsecure = {insecure}\n")
    })
}

fn registry() -> impl Strategy<Value = String> {
    let source = prop::sample::select(vec!["docker.io", "quay.io", "r.io:5000", "registry-1.docker.io"]);
    (source, any::<bool>(), prop::collection::vec(mirror(), 0..4)).prop_map(|(source, insecure, mirrors)| {
        format!("[[registry]]\nlocation = '{source}'\ninsecure = {insecure}\n{}", mirrors.concat())
    })
}

proptest! {
    /// There and back again, the same is asked: nothing is forbidden that was not.
    #[test]
    fn whatever_is_rendered_comes_back(registries in prop::collection::vec(registry(), 0..4)) {
        let text = registries.concat();
        let Ok(file) = ConfFile::parse(&text) else { return Ok(()) };
        let read = |conf: &RegistriesConf| Registries::read(&File::new(conf, &[]).value()).unwrap();
        let before = read(&RegistriesConf::merge([(PathBuf::from("registries.conf"), file)]));
        let imported = before.import().imported();
        // A source that is asked before its mirrors is told, and asked after them.
        prop_assume!(imported.findings.iter().all(|(_, finding)| finding.rule.name() != "import/source-first"));
        let sets = imported.sets("imported");
        let merged = merge(&MergeInputs { sets: &sets, sources: &imported.sources });
        let after = read(&merged.registries_conf(PathBuf::from("registries.conf")).unwrap());
        prop_assert!(merged.registries.iter().all(|entry| !entry.blocked), "{} becomes {:?}", text, merged);
        for (folder, _) in before.certs_d().folders() {
            let host = host_of_folder(folder).unwrap();
            let asked = [&before, &after].map(|it| Asking::by_containerd(&it.certs_d(), &host));
            prop_assert_eq!(&asked[0], &asked[1], "{}: {}", text, host);
        }
    }
}

#[test]
fn what_k3s_cannot_be_told_is_told() {
    let findings = |text: &str| -> Vec<_> {
        let findings = render(&conf(text), &[]).findings;
        findings
            .into_iter()
            .map(|finding| format!("{:?} {} {}", finding.severity, finding.rule.name(), finding.at))
            .collect()
    };
    let mirror = "[[registry.mirror]]\nlocation = 'a.io'\n";
    let digest_only = format!("[[registry]]\nlocation = 'quay.io'\nmirror-by-digest-only = true\n{mirror}");
    assert_eq!(findings(&digest_only), ["Warning k3s/digest-only registry[0]"]);
    let blocked = format!("[[registry]]\nlocation = 'quay.io'\nblocked = true\n{mirror}");
    assert_eq!(findings(&blocked), ["Error k3s/blocked registry[0]"]);
    let path = format!("[[registry]]\nlocation = 'quay.io/team'\n{mirror}");
    assert_eq!(findings(&path), ["Warning k3s/path registry[0]"]);
    let tag_only = format!("[[registry]]\nlocation = 'quay.io'\n{mirror}pull-from-mirror = 'tag-only'");
    assert_eq!(findings(&tag_only), ["Warning k3s/tag-only registry[0]"]);
    let one_insecure = format!(
        "[[registry]]\nlocation = 'quay.io'\n{mirror}insecure = true\n[[registry]]\nlocation = 'ghcr.io'\n{mirror}"
    );
    assert_eq!(findings(&one_insecure), ["Warning k3s/insecure registry[0]"]);
}
