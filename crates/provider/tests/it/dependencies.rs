//! What the plugin is built of: it runs on every node for every pull, so what it does not need it must not have.

use std::collections::BTreeSet;
use std::process::Command;

/// What is too large, too slow to start, or not ours to keep safe: run-times, command-line frameworks, regular
/// expressions, TLS and compression in C.
const NOT_IN_THE_PLUGIN: [&str; 16] = [
    "tokio",
    "async-std",
    "smol",
    "futures",
    "futures-executor",
    "hyper",
    "reqwest",
    "clap",
    "regex",
    "openssl",
    "openssl-sys",
    "native-tls",
    "aws-lc-rs",
    "aws-lc-sys",
    "kube",
    "k8s-openapi",
];

#[test]
fn the_plugin_is_built_of_few_things() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--package", "pullwright-provider", "--edges", "normal"])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).expect("text");
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    println!("{} packages: {names:?}", names.len());
    assert!(names.contains("pullwright-provider") && names.contains("rustls"), "{tree}");
    for name in NOT_IN_THE_PLUGIN {
        assert!(!names.contains(name), "{name} in {tree}");
    }
}
