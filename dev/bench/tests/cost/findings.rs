//! What is wrong in a file is told in time that grows with the file: where four times as much is wrong, the command line takes
//! at most four and a half times the instructions. A file of a few megabytes with a fault in every line is easily made, by a
//! program that goes wrong or by somebody who wants the checker to stand still.

use std::fs;

use crate::run::{command_line, counted, counting};

/// How many things are wrong; then four times as many.
const FEW: usize = 150;

/// Runs a command on an input with few things wrong and with many. In its arguments, `FILE` stands for the input and
/// `EMPTY` for an empty folder.
#[track_caller]
fn assert_grows_with_its_input(name: &str, input: impl Fn(usize) -> String, arguments: &str) {
    let [few, many] = [FEW, 4 * FEW].map(|size| {
        let folder = tempfile::tempdir().unwrap();
        let (file, empty) = (folder.path().join(name), folder.path().join("empty"));
        fs::create_dir(&empty).unwrap();
        fs::write(&file, input(size)).unwrap();
        let counts = folder.path().join("counts");
        let mut command = counting(&counts);
        command.arg(command_line()).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for argument in arguments.split_whitespace() {
            match argument {
                "FILE" => command.arg(&file),
                "EMPTY" => command.arg(&empty),
                argument => command.arg(argument),
            };
        }
        let output = command.output().expect("it starts");
        let told = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        let findings = told.lines().filter(|line| line.starts_with("error") || line.starts_with("warning"));
        // Or nothing would have been shown.
        let findings = findings.count();
        assert!(findings >= size, "{findings} findings of {size}: {}", &told[..told.len().min(2000)]);
        counted(&counts)
    });
    println!("{few} instructions for {arguments} of {FEW}, {many} for four times as many, in {name}");
    assert!(2 * many <= 9 * few, "{arguments}: {few} instructions for {FEW}, {many} for four times as many");
}

fn repeated(count: usize, each: impl Fn(usize) -> String) -> String {
    (0..count).map(each).collect()
}

/// Entries of an auth file, all on one line.
fn bad_entries(count: usize) -> String {
    let entries: Vec<_> = (0..count).map(|key| format!(r#""Bad Key {key}":{{"auth":"x"}}"#)).collect();
    format!("{{{}}}", entries.join(","))
}

fn auth_file(count: usize) -> String {
    format!(r#"{{"auths":{}}}"#, bad_entries(count))
}

fn registries_conf(count: usize) -> String {
    repeated(count, |entry| format!("[[registry]]\nlocation = \"r{entry}.example.com\"\nunknown = 1\n"))
}

fn mirror_set(name: &str, rules: &str) -> String {
    format!(
        "---\napiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nmetadata: {{name: {name}}}\n\
         spec:\n  imageDigestMirrors:\n{rules}"
    )
}

fn rule(number: usize) -> String {
    format!(
        "  - source: q{number}.example.com\n    mirrors: [m{number}.example.com, m{number}.example.com]\n    \
         mirrorSourcePolicy: NeverContactSource\n"
    )
}

fn mirror_sets(count: usize) -> String {
    repeated(count, |set| mirror_set(&format!("s{set}"), &rule(set)))
}

fn image_cluster(count: usize) -> String {
    let insecure = repeated(count, |host| format!("    - m{host}.example.com/x\n"));
    let blocked = repeated(count, |host| format!("    - m{host}.example.com\n"));
    format!(
        "{}---\napiVersion: config.openshift.io/v1\nkind: Image\nmetadata: {{name: cluster}}\nspec:\n  registrySources:\n    \
         insecureRegistries:\n{insecure}    blockedRegistries:\n{blocked}",
        mirror_sets(count)
    )
}

fn secrets(count: usize) -> String {
    let others = repeated(count, |key| format!("  key{key}: text\n"));
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: team}}\ntype: kubernetes.io/dockerconfigjson\n\
         stringData:\n{others}  .dockerconfigjson: '{}'\n",
        auth_file(count)
    )
}

fn hosts_toml(count: usize) -> String {
    repeated(count, |host| format!("[host.\"https://m{host}.example.com/path\"]\nca = \"x\"\nunknown = 1\n"))
}

fn registries_yaml(count: usize) -> String {
    let mirrors = repeated(count, |host| {
        format!("  q{host}.io:\n    endpoint: [\"ftp://m{host}.io\", \"https://m{host}.io\"]\n    x: 1\n")
    });
    let endpoints = repeated(count, |host| format!("    - https://n{host}.io\n"));
    let rewrites = repeated(count, |path| format!("      \"^a{path}/(.*)$\": \"b{path}/$1\"\n"));
    let configs = repeated(count, |host| format!("  m{host}.io:\n    tls: {{insecure_skip_verify: true}}\n"));
    format!(
        "mirrors:\n{mirrors}  many.io:\n    endpoint:\n{endpoints}  paths.io:\n    endpoint: [\"https://n.io\"]\n    \
         rewrite:\n{rewrites}configs:\n{configs}"
    )
}

fn provider_config(count: usize) -> String {
    let providers = repeated(count, |number| {
        format!(
            "- name: p{number}\n  matchImages: [\"q{number}.io:port\"]\n  defaultCacheDuration: 1m\n  \
             apiVersion: credentialprovider.kubelet.k8s.io/v1\n"
        )
    });
    format!("apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n{providers}")
}

#[test]
fn lint_grows_with_the_bad_keys_of_an_auth_file_on_one_line() {
    assert_grows_with_its_input("auth.json", auth_file, "lint FILE");
    let wrong_types = |count| auth_file(count).replace("{\"auth\":\"x\"}", "[]");
    assert_grows_with_its_input("auth.json", wrong_types, "lint FILE");
}

#[test]
fn lint_grows_with_the_unknown_keys_of_registries_conf() {
    assert_grows_with_its_input("registries.conf", registries_conf, "lint FILE");
    let aliases = |count| format!("[aliases]\n{}", repeated(count, |name| format!("a{name} = \"bad\"\n")));
    assert_grows_with_its_input("registries.conf", aliases, "lint FILE");
}

#[test]
fn lint_grows_with_the_mirror_sets_of_one_file() {
    assert_grows_with_its_input("sets.yaml", mirror_sets, "lint FILE");
    let one_set = |count| mirror_set("one", &repeated(count, rule));
    assert_grows_with_its_input("set.yaml", one_set, "lint FILE");
}

/// Whatever is found of it, as little as that is.
#[test]
fn lint_grows_with_the_components_of_a_source() {
    let path = |count: usize| "/a".repeat(200 * count);
    let labels = |count: usize| "a.".repeat(200 * count);
    let scopes = |count: usize| {
        let long = format!("  - source: a.com{}\n    mirrors: [m.io]\n", path(count));
        let deep = format!("  - source: {}com\n    mirrors: [m.io]\n", labels(count));
        let wildcard = format!("  - source: \"*.{}com\"\n    mirrors: [m.io]\n", labels(count));
        mirror_set("deep", &format!("{long}{deep}{wildcard}{}", repeated(count, rule)))
    };
    assert_grows_with_its_input("deep.yaml", scopes, "lint FILE");
    assert_grows_with_its_input("deep.yaml", scopes, "render FILE");
}

#[test]
fn lint_grows_with_the_findings_of_every_other_kind_of_file() {
    assert_grows_with_its_input("secret.yaml", secrets, "lint FILE");
    assert_grows_with_its_input("hosts.toml", hosts_toml, "lint FILE");
    assert_grows_with_its_input("providers.yaml", provider_config, "lint FILE");
    assert_grows_with_its_input(".dockercfg", bad_entries, "lint FILE");
}

#[test]
fn render_grows_with_its_findings() {
    assert_grows_with_its_input("sets.yaml", image_cluster, "render FILE");
    assert_grows_with_its_input("sets.yaml", image_cluster, "render FILE --for containerd");
    assert_grows_with_its_input("sets.yaml", image_cluster, "render FILE --for k3s");
}

#[test]
fn import_grows_with_its_findings() {
    assert_grows_with_its_input("registries.yaml", registries_yaml, "import FILE");
    assert_grows_with_its_input("hosts.toml", hosts_toml, "import FILE --registry q.io");
}

#[test]
fn explain_grows_with_its_findings() {
    let manifests = |count| format!("{}{}", secrets(count), image_cluster(count));
    // Not by --root: valgrind does not know how to open a file below a folder.
    let arguments = "explain q1.example.com/x:1 -n team --manifests FILE --registries-conf-dir EMPTY";
    assert_grows_with_its_input("manifests.yaml", manifests, arguments);
    let one_rule = |count: usize| {
        let mirrors: Vec<_> = (0..count).map(|mirror| format!("m{mirror}.io")).collect();
        let rule = format!("  - source: q.io\n    mirrors: [{}]\n", mirrors.join(", "));
        format!("{}{}", secrets(count), mirror_set("many", &rule))
    };
    let arguments = "explain q.io/x:1 -n team --manifests FILE --registries-conf-dir EMPTY";
    assert_grows_with_its_input("manifests.yaml", one_rule, arguments);
}
