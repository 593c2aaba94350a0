//! What each crate of the workspace may depend on: the table of the design, compared with what cargo says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Each shipped crate by its folder, the crates of ours that it uses, and the others. A new crate needs a row, and a new arrow needs
/// a reason: nothing depends on a program, and no arrow points back.
const SHIPPED: &[(&str, &[&str], &[&str])] = &[
    ("findings", &[], &["serde"]),
    ("flags", &[], &["lexopt", "thiserror"]),
    ("golang", &[], &["serde_json", "thiserror", "toml", "toml_parser"]),
    ("protobuf", &[], &["thiserror"]),
    ("documents", &["findings", "golang"], &["granit-parser", "serde", "serde_json", "toml"]),
    (
        "engine",
        &["findings", "golang"],
        &["serde", "serde_json", "thiserror", "toml", "toml_parser", "toml_writer"],
    ),
    (
        "api",
        &["engine", "golang"],
        &["k8s-openapi", "kube", "schemars", "serde", "serde-saphyr", "serde_json", "sha2", "thiserror"],
    ),
    ("nodeconfig", &["documents", "engine", "findings"], &["serde", "serde_json", "thiserror"]),
    ("nodefiles", &["engine"], &["rustix", "thiserror"]),
    ("outcomes", &[], &["rustix"]),
    ("handover", &["engine"], &["nix", "rustix", "sha2", "thiserror"]),
    (
        "registry",
        &["engine", "golang"],
        &[
            "futures-util",
            "http-body-util",
            "hyper",
            "hyper-rustls",
            "hyper-util",
            "rustls",
            "rustls-native-certs",
            "serde",
            "serde_json",
            "sha2",
            "tempfile",
            "thiserror",
            "tokio",
        ],
    ),
    (
        "provider",
        &["documents", "engine", "flags", "golang", "handover", "nodefiles", "outcomes", "protobuf"],
        &["httparse", "rustix", "rustls", "serde", "serde_json", "thiserror"],
    ),
    (
        "images",
        &["engine", "flags", "golang", "handover", "nodefiles", "protobuf"],
        &["bytes", "h2", "http-body-util", "hyper", "hyper-util", "rustix", "thiserror", "tokio"],
    ),
    (
        "daemon",
        &[],
        &[
            "http-body-util",
            "hyper",
            "hyper-util",
            "kube",
            "thiserror",
            "tokio",
            "tracing",
            "tracing-subscriber",
        ],
    ),
    (
        "agent",
        &["api", "daemon", "documents", "engine", "flags", "nodeconfig", "nodefiles", "outcomes"],
        &[
            "futures-util",
            "http-body-util",
            "hyper",
            "hyper-rustls",
            "hyper-util",
            "k8s-openapi",
            "kube",
            "prometheus-client",
            "rustix",
            "rustls",
            "serde",
            "serde_json",
            "sha2",
            "thiserror",
            "tokio",
            "tracing",
        ],
    ),
    (
        "operator",
        &["api", "daemon", "documents", "engine", "findings", "flags", "nodeconfig"],
        &[
            "futures-util",
            "k8s-openapi",
            "kube",
            "prometheus-client",
            "rustix",
            "serde",
            "serde-saphyr",
            "serde_json",
            "sha2",
            "thiserror",
            "tokio",
            "tracing",
        ],
    ),
    (
        "cli",
        &["api", "documents", "engine", "findings", "golang", "nodeconfig", "nodefiles", "registry"],
        &[
            "anstream",
            "anstyle",
            "clap",
            "clap_complete",
            "clap_mangen",
            "futures-util",
            "hyper-util",
            "indicatif",
            "k8s-openapi",
            "kube",
            "rustls",
            "serde",
            "serde-saphyr",
            "serde_json",
            "sha2",
            "tempfile",
            "thiserror",
            "tokio",
            "toml",
        ],
    ),
];

/// What cargo says of the workspace's packages.
fn packages() -> Vec<Value> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--locked", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Where a package is, seen from the workspace's root: `crates/engine`.
fn folder_of(package: &Value) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    manifest.parent().unwrap().strip_prefix(root).unwrap().display().to_string()
}

/// What it is built from, apart from what only its tests use: folders of ours, and names of others.
fn built_from(package: &Value) -> (BTreeSet<String>, BTreeSet<String>) {
    let dependencies = package["dependencies"].as_array().unwrap();
    let normal = dependencies.iter().filter(|dependency| dependency["kind"].is_null());
    let (ours, others): (Vec<_>, Vec<_>) = normal.partition(|dependency| !dependency["path"].is_null());
    let name = |dependency: &&Value| dependency["name"].as_str().unwrap().to_owned();
    let folder = |dependency: &&Value| name(dependency).trim_start_matches("pullwright-").to_owned();
    (ours.iter().map(folder).collect(), others.iter().map(name).collect())
}

#[test]
fn each_crate_is_built_from_what_the_table_says() {
    let mut table: BTreeMap<String, _> = SHIPPED
        .iter()
        .map(|(folder, ours, others)| (format!("crates/{folder}"), (owned(ours), owned(others))))
        .collect();
    for package in packages() {
        let folder = folder_of(&package);
        if folder.starts_with("crates/") {
            let allowed = table.remove(&folder).unwrap_or_else(|| panic!("{folder} has no row in the table"));
            assert_eq!(
                built_from(&package),
                allowed,
                "{folder}: what it is built from, and what the table says"
            );
        }
    }
    assert!(table.is_empty(), "in the table, but not in the workspace: {table:?}");
}

fn owned(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn the_table_has_no_arrow_that_points_back() {
    for (row, (folder, ours, _)) in SHIPPED.iter().enumerate() {
        let above: BTreeSet<_> = SHIPPED[..row].iter().map(|(folder, ..)| folder).collect();
        assert!(ours.iter().all(|name| above.contains(name)), "{folder} uses a crate below it: {ours:?}");
    }
}

#[test]
fn every_dependency_is_the_workspaces() {
    for package in packages() {
        let path = package["manifest_path"].as_str().unwrap();
        let manifest: toml::Table = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        for (section, dependencies) in
            manifest.iter().filter(|(section, _)| section.ends_with("dependencies"))
        {
            for (name, wanted) in dependencies.as_table().unwrap() {
                let inherited = wanted.get("workspace").and_then(toml::Value::as_bool);
                assert_eq!(inherited, Some(true), "{name} in [{section}] of {path}");
            }
        }
    }
}
