//! The way back into mirror sets, and there and back again.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::endpoints::certs_d;
use super::render::conf;
use crate::containerd::asked::Asking;
use crate::containerd::render::planned;
use crate::containerd::{CertsD, Imported, host_of_folder, import, render};
use crate::mirrors::{MergeInputs, MirrorSetKind, ObjectOutcome, SourcePolicy, merge};
use crate::registries::RegistriesConf;

fn read(folder: &str, text: &str) -> Imported {
    let mut certs = CertsD::default();
    certs.insert(folder, Some(text));
    import(&certs).imported()
}

fn rules(imported: &Imported) -> Vec<String> {
    let sets = imported.sets("x");
    let each = sets.iter().flat_map(|set| set.rules.iter().map(|rule| (set.kind, rule)));
    each.map(|(kind, rule)| {
        let kind = if kind == MirrorSetKind::ImageDigestMirrorSet { "digest" } else { "tag" };
        let never = if rule.policy == Some(SourcePolicy::NeverContactSource) { " only" } else { "" };
        format!("{kind} {}: {}{never}", rule.source, rule.mirrors.join(" "))
    })
    .collect()
}

fn told(imported: &Imported) -> Vec<String> {
    imported.findings.iter().map(|(_, finding)| format!("{} {}", finding.rule.name(), finding.at)).collect()
}

#[test]
fn a_mirror_that_resolves_is_for_tags_and_digests() {
    let imported = read(
        "docker.io",
        "[host.'https://a.io/v2/hub']\ncapabilities = ['pull', 'resolve']\noverride_path = true\n\
         [host.'https://b.io:5000']\ncapabilities = ['pull']\n[host.'https://c.io']\ncapabilities = ['push']",
    );
    assert_eq!(rules(&imported), ["digest docker.io: a.io/hub b.io:5000", "tag docker.io: a.io/hub"]);
    assert_eq!(told(&imported), [""; 0]);
}

#[test]
fn a_server_that_is_not_asked_or_is_another_means_never_contact_the_source() {
    let mirror = "[host.'https://a.io']\n";
    let only = ["digest quay.io: a.io only", "tag quay.io: a.io only"];
    assert_eq!(
        rules(&read("quay.io", &format!("server = 'quay.io'\ncapabilities = ['push']\n{mirror}"))),
        only
    );
    let other = ["digest quay.io: a.io b.io only", "tag quay.io: a.io b.io only"];
    assert_eq!(rules(&read("quay.io", &format!("server = 'https://b.io'\n{mirror}"))), other);
    let blocked = read("quay.io", "server = 'https://quay.io'\ncapabilities = ['push']");
    assert_eq!(rules(&blocked), [""; 0]);
    assert_eq!(blocked.sources.blocked, ["quay.io"]);
}

#[test]
fn the_registry_itself_is_no_mirror_by_whatever_name() {
    let documented = "server = 'https://docker.io'\n[host.'https://registry-1.docker.io']\n";
    assert_eq!(rules(&read("docker.io", documented)), [""; 0]);
    let first = read("quay.io", "[host.'https://quay.io']\n[host.'https://a.io']\n");
    assert_eq!(rules(&first), ["digest quay.io: a.io", "tag quay.io: a.io"]);
    assert_eq!(told(&first), ["import/source-first "]);
}

#[test]
fn connections_that_are_not_verified_are_insecure_registries() {
    let imported = read(
        "registry.io_5000_",
        "skip_verify = true\n[host.'http://a.io:5000/v2/x']\noverride_path = true\n[host.'https://b.io']\nskip_verify = true",
    );
    assert_eq!(imported.sources.insecure, ["a.io:5000", "b.io", "registry.io:5000"]);
    assert_eq!(rules(&imported)[0], "digest registry.io:5000: a.io:5000/x b.io");
}

/// What two folders of a node say about the same mirrors.
fn read_two(docker: &str, quay: &str) -> Imported {
    let mut certs = CertsD::default();
    certs.insert("docker.io", Some(docker));
    certs.insert("quay.io", Some(quay));
    import(&certs).imported()
}

#[test]
fn a_mirror_that_is_verified_for_one_registry_stays_verified() {
    let insecure = "[host.'https://m.io']\nskip_verify = true\n";
    let both = read_two(insecure, "[host.'https://m.io']\n");
    assert_eq!(both.sources.insecure, [""; 0]);
    let [(file, finding)] = both.findings.as_slice() else { panic!("{:?}", both.findings) };
    assert_eq!(
        (*file, finding.rule.name(), finding.at.to_string()),
        (0, "import/insecure", "host.https://m.io".to_owned())
    );
    assert_eq!(
        finding.message,
        "the certificate of m.io is not verified for images of docker.io, but is for those of quay.io; in a cluster it is \
         one or the other, and here it is verified"
    );
    // The same from two commands' worth of files.
    let mut one = CertsD::default();
    one.insert("quay.io", Some("[host.'https://m.io']\n"));
    let mut two = CertsD::default();
    two.insert("docker.io", Some(insecure));
    let mut collected = import(&one);
    collected.extend(import(&two));
    let apart = collected.imported();
    assert_eq!((apart.sources.insecure.len(), apart.findings.len(), apart.findings[0].0), (0, 1, 1));
    // Paths can be told apart, and nothing is lost.
    let paths = read_two(
        "[host.'http://m.io/v2/hub']\noverride_path = true\n",
        "[host.'https://m.io/v2/quay']\noverride_path = true\n",
    );
    assert_eq!((paths.sources.insecure, paths.findings), (vec!["m.io/hub".to_owned()], vec![]));
    let inside = read_two("[host.'http://m.io']\n", "[host.'https://m.io/v2/quay']\noverride_path = true\n");
    assert_eq!(
        (inside.sources.insecure.len(), told(&inside)),
        (0, vec!["import/insecure host.http://m.io".to_owned()])
    );
    let itself =
        read_two("[host.'http://quay.io/v2/hub']\noverride_path = true\n", "[host.'https://m.io']\n");
    assert_eq!(itself.sources.insecure, [""; 0], "quay.io/hub is also asked for images of quay.io");
}

#[test]
fn what_the_api_would_refuse_is_left_out_and_has_a_place() {
    let imported = read(
        "quay.io",
        "[host.'https://q.io/v2/P']\noverride_path = true\n[host.'https://mirror']\n[host.'https://a.io']\n",
    );
    assert_eq!(
        told(&imported),
        ["mirrors/invalid-mirror host.https://q.io/v2/P", "mirrors/unusable-mirror host.https://mirror"]
    );
    assert_eq!(rules(&imported), ["digest quay.io: a.io", "tag quay.io: a.io"]);
    let registry = read("Bad_Name!", "[host.'https://a.io']\n");
    assert_eq!((told(&registry), rules(&registry)), (vec!["mirrors/invalid-source ".to_owned()], vec![]));
}

#[test]
fn docker_hub_is_itself_by_either_of_its_names() {
    let imported = read("registry-1.docker.io", "skip_verify = true\n[host.'https://a.io']\n");
    assert_eq!(rules(&imported), ["digest registry-1.docker.io: a.io", "tag registry-1.docker.io: a.io"]);
    assert_eq!(imported.sources.insecure, ["registry-1.docker.io"]);
}

#[test]
fn what_mirror_sets_have_no_words_for_is_told() {
    let settings =
        read("quay.io", "[host.'https://a.io']\nca = 'ca.pem'\n[host.'https://a.io'.header]\nx = 'y'");
    assert_eq!(told(&settings), ["import/settings host.https://a.io"]);
    assert_eq!(told(&read("_default", "[host.'https://a.io']")), ["import/all-registries "]);
    let path = read("quay.io", "[host.'https://a.io/x/v2']");
    assert_eq!(told(&path), ["import/path host.https://a.io/x/v2"]);
    assert_eq!(rules(&path), [""; 0]);
    let half = read("quay.io", "server = 'https://quay.io'\ncapabilities = ['pull']\n[host.'https://a.io']");
    assert_eq!(told(&half), ["import/one-policy "]);
    assert_eq!(rules(&half), ["digest quay.io: a.io only", "tag quay.io: a.io only"]);
    assert_eq!(told(&read("quay.io", "x = ")), ["containerd/refused "]);
}

#[test]
fn a_folder_that_containerd_does_not_read_is_not_taken_over() {
    let mut certs = CertsD::default();
    certs.insert("r.io:5000", Some("[host.'https://a.io']"));
    certs.insert("r.io_5000_", Some("[host.'https://b.io']"));
    let imported = import(&certs).imported();
    assert_eq!(rules(&imported)[0], "digest r.io:5000: b.io");
    assert_eq!(told(&imported), ["import/shadowed "]);
}

/// What is imported, as a node has it then.
fn back(certs: &CertsD) -> RegistriesConf {
    let imported = import(certs).imported();
    assert_eq!(imported.findings, [], "everything can be said");
    let sets = imported.sets("imported");
    let merged = merge(&MergeInputs { sets: &sets, sources: &imported.sources });
    for verdict in &merged.verdicts {
        assert_eq!(verdict.outcome, ObjectOutcome::Applied, "{verdict:?}");
    }
    merged.registries_conf(PathBuf::from("registries.conf")).unwrap()
}

fn assert_comes_back(certs: &CertsD, context: &str) {
    let again = planned(&back(certs), &[]);
    for (folder, _) in certs.folders() {
        let host = host_of_folder(folder).unwrap();
        let (before, after) = (Asking::by_containerd(certs, &host), Asking::by_containerd(&again, &host));
        assert_eq!(before, after, "{context}: {host}");
    }
}

#[test]
fn what_was_rendered_comes_back() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/containerd/render");
    for entry in fs::read_dir(fixtures).unwrap() {
        let folder = entry.unwrap().path();
        if folder.join("certs.d").is_dir() {
            assert_comes_back(&certs_d(&folder.join("certs.d")), &folder.display().to_string());
        }
    }
}

fn mirror() -> impl Strategy<Value = String> {
    let location = prop::sample::select(vec!["a.io", "b.io:5000", "c.io/x", "c.io/x/y", "d.example.com"]);
    let serves = prop::sample::select(vec!["", "all", "digest-only", "tag-only"]);
    (location, serves).prop_map(|(location, serves)| {
        let insecure = location == "b.io:5000";
        let serves =
            if serves.is_empty() { String::new() } else { format!("pull-from-mirror = '{serves}'\n") };
        format!("[[registry.mirror]]\nlocation = '{location}'\ninsecure = {insecure}\n{serves}")
    })
}

fn registry() -> impl Strategy<Value = String> {
    let source =
        prop::sample::select(vec!["docker.io", "quay.io", "r.io:5000", "quay.io/team", "docker.io/library"]);
    (source, any::<bool>(), prop::collection::vec(mirror(), 0..4)).prop_map(|(source, blocked, mirrors)| {
        format!("[[registry]]\nlocation = '{source}'\nblocked = {blocked}\n{}", mirrors.concat())
    })
}

proptest! {
    #[test]
    fn whatever_is_rendered_comes_back(registries in prop::collection::vec(registry(), 0..5)) {
        let text = registries.concat();
        let Ok(file) = crate::registries::ConfFile::parse(&text) else { return Ok(()) };
        let conf = RegistriesConf::merge([(PathBuf::from("registries.conf"), file)]);
        let rendered = render(&conf, &[]);
        let mut certs = CertsD::default();
        for (path, text) in &rendered.files {
            certs.insert(path.trim_end_matches("/hosts.toml"), Some(text));
        }
        // The text means what was planned.
        for (folder, _) in certs.folders() {
            let host = host_of_folder(folder).unwrap();
            prop_assert_eq!(certs.endpoints(&host), planned(&conf, &[]).endpoints(&host));
        }
        assert_comes_back(&certs, &text);
    }
}

#[test]
fn a_conf_without_entries_is_no_file() {
    assert_eq!(render(&conf(""), &[]).files.len(), 0);
}
