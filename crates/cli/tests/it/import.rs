//! Importing: from standard input, from several files, and what `render` wrote.

use std::fs;
use std::process::Output;

use crate::program::{command, piped, testdata};

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn standard_input_needs_to_be_told_what_it_is() {
    let hosts = "[host.\"https://mirror.example.com\"]\ncapabilities = [\"pull\"]\n";
    let known = piped(&["import", "-", "--registry", "quay.io:443"], hosts.as_bytes());
    assert_eq!(known.status.code(), Some(0), "{known:?}");
    assert!(
        text(&known.stdout).contains("source: quay.io:443\n    mirrors:\n    - mirror.example.com\n"),
        "{known:?}"
    );
    assert!(!text(&known.stdout).contains("ImageTagMirrorSet"));

    let unknown = piped(&["import", "-", "--from", "containerd"], hosts.as_bytes());
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("--registry"), "{unknown:?}");
    assert_eq!(piped(&["import", "-"], hosts.as_bytes()).status.code(), Some(2));

    let yaml =
        piped(&["import", "-", "--from", "k3s"], b"mirrors: {quay.io: {endpoint: [mirror.example.com]}}");
    assert_eq!(yaml.status.code(), Some(0), "{yaml:?}");
    let refused = piped(&["import", "-", "--from", "k3s"], b"mirrors: [quay.io]");
    assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(2), String::new()));
}

#[test]
fn several_paths_become_the_same_objects() {
    let certs_d = testdata("containerd-node/etc/containerd/certs.d");
    let folders = ["docker.io", "quay.io"].map(|name| certs_d.join(name).to_str().unwrap().to_owned());
    let output = run(&["import", &folders[0], &folders[1], "-o", "json"]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let sources: Vec<_> = answer["objects"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|object| object["spec"]["imageDigestMirrors"].as_array().into_iter().flatten())
        .map(|rule| rule["source"].as_str().unwrap())
        .collect();
    // The mirror of docker.io is not below /v2 and cannot be taken over.
    assert_eq!(sources, ["quay.io"]);
}

/// Mirror sets to a node's files and back: the node asks the same, so it is given the same files.
#[test]
fn what_render_wrote_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let sets = folder.path().join("sets.yaml");
    let written = "\
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata:
  name: imported
spec:
  imageDigestMirrors:
  - source: docker.io
    mirrors:
    - mirror.example.com/hub
    - other.example.com:5000
    mirrorSourcePolicy: NeverContactSource
  - source: quay.io
    mirrors:
    - other.example.com:5000
---
apiVersion: config.openshift.io/v1
kind: ImageTagMirrorSet
metadata:
  name: imported
spec:
  imageTagMirrors:
  - source: docker.io
    mirrors:
    - mirror.example.com/hub
    mirrorSourcePolicy: NeverContactSource
---
# A cluster has one Image, and may have it already: add this to it.
apiVersion: config.openshift.io/v1
kind: Image
metadata:
  name: cluster
spec:
  registrySources:
    insecureRegistries:
    - other.example.com:5000
";
    fs::write(&sets, written).unwrap();
    let certs_d = folder.path().join("certs.d");
    let [sets, certs_d] = [&sets, &certs_d].map(|path| path.to_str().unwrap());
    let rendered = run(&["render", sets, "--for", "containerd", "--to", certs_d]);
    assert_eq!(rendered.status.code(), Some(0), "{rendered:?}");
    let imported = run(&["import", certs_d]);
    assert_eq!(
        (imported.status.code(), text(&imported.stdout)),
        (Some(0), written.to_owned()),
        "{imported:?}"
    );
}

/// The same for K3s, whose file has the settings of Docker Hub under the name that it is connected to.
#[test]
fn what_render_wrote_for_k3s_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let written = "\
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata:
  name: imported
spec:
  imageDigestMirrors:
  - source: docker.io
    mirrors:
    - mirror.example.com/hub
---
apiVersion: config.openshift.io/v1
kind: ImageTagMirrorSet
metadata:
  name: imported
spec:
  imageTagMirrors:
  - source: docker.io
    mirrors:
    - mirror.example.com/hub
---
# A cluster has one Image, and may have it already: add this to it.
apiVersion: config.openshift.io/v1
kind: Image
metadata:
  name: cluster
spec:
  registrySources:
    insecureRegistries:
    - docker.io
";
    let [sets, yaml] = ["sets.yaml", "registries.yaml"].map(|name| folder.path().join(name));
    fs::write(&sets, written).unwrap();
    let [sets, yaml] = [&sets, &yaml].map(|path| path.to_str().unwrap());
    let rendered = run(&["render", sets, "--for", "k3s", "--to", yaml]);
    assert_eq!(rendered.status.code(), Some(0), "{rendered:?}");
    let imported = run(&["import", yaml]);
    assert_eq!(
        (imported.status.code(), text(&imported.stdout)),
        (Some(0), written.to_owned()),
        "{imported:?}"
    );
}

#[test]
fn a_file_that_cannot_be_taken_over_hurts_only_itself_and_a_finding_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let write = |registry: &str, text: &[u8]| {
        fs::create_dir_all(folder.path().join(registry)).unwrap();
        fs::write(folder.path().join(registry).join("hosts.toml"), text).unwrap();
    };
    write(
        "docker.io",
        b"[host.\"https://q.io/v2/P\"]\noverride_path = true\n[host.\"https://m.io\"]\nskip_verify = true\n",
    );
    write("ghcr.io", b"server = \"\xe9\"\n");
    write("quay.io", b"[host.\"https://m.io\"]\n");
    let output = run(&["import", folder.path().to_str().unwrap()]);
    let (objects, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
    for line in
        ["- source: docker.io\n    mirrors:\n    - m.io\n", "- source: quay.io\n    mirrors:\n    - m.io\n"]
    {
        assert!(objects.contains(line), "{objects}");
    }
    assert!(!objects.contains("q.io/P") && !objects.contains("insecureRegistries"), "{objects}");
    for part in [
        "error[mirrors/invalid-mirror]: invalid format for mirror \"q.io/P\"",
        "docker.io/hosts.toml:1:7",
        "warning[import/insecure]: the certificate of m.io is not verified for images of docker.io, but is for those of quay.io",
        "docker.io/hosts.toml:3:7",
        "ghcr.io/hosts.toml: not UTF-8 text",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    // Neither do paths that are named.
    let [quay, nothing] = ["quay.io", "nothing"].map(|name| folder.path().join(name));
    let [quay, nothing] = [&quay, &nothing].map(|path| path.to_str().unwrap());
    let beside = run(&["import", nothing, quay]);
    assert_eq!(beside.status.code(), Some(1));
    assert_eq!(beside.stdout, run(&["import", quay]).stdout);
    assert!(text(&beside.stderr).contains("there is no such file"), "{beside:?}");
}
