//! The engine cannot do I/O because nothing that it depends on can: no runtime, no sockets, no TLS, no clock.

use std::collections::BTreeSet;
use std::process::Command;

/// All that may be in the engine's dependency tree. Each is a parser, a data structure or a derive macro.
const ALLOWED: &[&str] = &[
    "itoa",
    "memchr",
    "proc-macro2",
    "pullwright-engine",
    "pullwright-findings",
    "pullwright-golang",
    "quote",
    "serde",
    "serde_core",
    "serde_derive",
    "serde_json",
    "serde_spanned",
    "syn",
    "thiserror",
    "thiserror-impl",
    "toml",
    "toml_datetime",
    "toml_parser",
    "toml_writer",
    "unicode-ident",
    "winnow",
    "zmij",
];

#[test]
fn nothing_in_the_dependency_tree_can_do_io() {
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package",
            "pullwright-engine",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let found: BTreeSet<&str> =
        tree.lines().filter_map(|line| line.split(' ').next()).filter(|name| !name.is_empty()).collect();
    assert!(found.contains("serde_json"), "the tree was not read: {tree}");
    let unexpected: Vec<_> = found.iter().filter(|name| !ALLOWED.contains(name)).collect();
    assert_eq!(unexpected, Vec::<&&str>::new(), "new in the engine's dependency tree");
}
