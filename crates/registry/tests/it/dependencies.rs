//! What the client is built from: one TLS library with one provider, no second HTTP library.

use std::process::Command;

#[test]
fn tls_is_rustls_with_ring_and_nothing_else() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--package",
            "pullwright-registry",
            "--edges",
            "normal",
            "--prefix",
            "none",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    for wanted in ["rustls", "ring"] {
        assert!(names.contains(&wanted), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for unwanted in ["aws-lc-rs", "aws-lc-sys", "openssl", "openssl-sys", "native-tls", "reqwest", "ureq"] {
        assert!(
            !names.contains(&unwanted),
            "{unwanted} has come in; `cargo tree --invert {unwanted}` says how"
        );
    }
}
