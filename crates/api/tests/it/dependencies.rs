//! What the types are built of: whoever only reads manifests must not carry a client for them.

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn there_is_no_client_in_the_types() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--package", "pullwright-api", "--edges", "normal"])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    println!("{} packages: {names:?}", names.len());
    assert!(names.contains("kube-core"), "{tree}");
    for name in ["kube-client", "kube-runtime", "tokio", "hyper", "tower", "rustls", "openssl"] {
        assert!(!names.contains(name), "{name} in {tree}");
    }
}
