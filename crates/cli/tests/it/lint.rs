//! `testdata/lint/*`: each file is linted, and what must come out stands beside it in `expected/`.

use std::fs;

use crate::program::{command, differs, files, testdata, top, transcript};

#[test]
fn every_fixture_has_its_findings() {
    let folder = testdata("lint");
    let mut wrong = Vec::new();
    let mut exits = std::collections::BTreeMap::<_, u32>::new();
    for file in files(&folder).into_iter().filter(|file| file.is_file()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let path = file.strip_prefix(top()).unwrap().to_str().unwrap();
        let output = command(&["lint", path]).output().unwrap();
        let code = output.status.code().unwrap();
        *exits.entry(code).or_default() += 1;
        if name.starts_with("good-") != (code == 0) {
            wrong.push(format!("{name}: exit {code}"));
        }
        wrong.extend(differs(&folder.join("expected").join(format!("{name}.txt")), &transcript(&output)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!([0, 1, 2].iter().all(|code| exits.contains_key(code)), "not every exit code is shown: {exits:?}");
}

/// One file that is not text, beside others: each of the others is checked.
#[test]
fn a_file_that_cannot_be_read_hurts_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &[u8]| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let bad = b"x = \"\xe9\"\n";
    let lint = |arguments: &[&str]| {
        let output = command(&[&["lint"], arguments].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };

    let named =
        lint(&[&write("bad.conf", bad), &write("bad.yaml", bad), &write("good.conf", b"[aliases]\n")]);
    assert!(named.contains("good.conf (registries.conf)\n"), "{named}");
    assert_eq!(named.matches("not UTF-8 text").count(), 2, "{named}");

    for (broken, kind) in [
        ("etc/containers/registries.conf", "registries.conf"),
        ("etc/containerd/config.toml", "containerd's config.toml"),
        ("etc/containerd/certs.d/docker.io/hosts.toml", "hosts.toml"),
        ("var/lib/kubelet/config.json", "auth file"),
        ("etc/kubernetes/credential-provider-config.yaml", "CredentialProviderConfig"),
    ] {
        let good = write("node/etc/containerd/certs.d/quay.io/hosts.toml", b"server = \"https://quay.io\"\n");
        let bad = write(&format!("node/{broken}"), bad);
        let node = lint(&["--root", folder.path().join("node").to_str().unwrap()]);
        assert!(node.contains(&format!("✗ {bad} ({kind})\n")), "{broken}\n{node}");
        assert!(node.contains(&format!("{good} (hosts.toml)\n")), "{broken}\n{node}");
        fs::remove_file(bad).unwrap();
    }
}

#[test]
fn the_catalogue_is_printed_for_people_and_programs() {
    let lint = |arguments: &[&str]| {
        let output = command(&[&["lint", "--rules"], arguments].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = lint(&[]);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&lint(&["-o", "json"])).unwrap();
    assert!(rows.len() > 90, "{}", rows.len());
    for row in rows {
        for field in ["rule", "severity", "meaning", "help"] {
            assert!(text.contains(row[field].as_str().unwrap()), "{row}");
        }
    }
}
