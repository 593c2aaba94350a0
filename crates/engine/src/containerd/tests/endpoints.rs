//! The fixtures of `testdata/containerd/endpoints`: `expected.txt` is what containerd 2.4.2 itself answered.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::containerd::{By, CertsD, EndpointRole, Folder, folder_name, host_of_folder};
use crate::reference::{Dialect, Reference};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/containerd/endpoints")
}

pub(super) fn certs_d(folder: &Path) -> CertsD {
    let mut certs = CertsD::default();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let text = fs::read_to_string(path.join("hosts.toml")).ok();
            certs.insert(path.file_name().unwrap().to_str().unwrap(), text.as_deref());
        }
    }
    certs
}

fn answer(certs: &CertsD, host: &str) -> String {
    let mut out = format!("{host}\n");
    for endpoint in certs.endpoints(host) {
        write!(out, "  {endpoint}").unwrap();
        for capability in endpoint.capabilities.iter() {
            write!(out, " {}", capability.as_str()).unwrap();
        }
        for (is, word) in [(endpoint.skip_verify, "unverified"), (endpoint.falls_back_to_http, "or-http")] {
            if is {
                write!(out, " {word}").unwrap();
            }
        }
        out.push('\n');
    }
    out
}

#[test]
fn the_same_are_asked_in_the_same_order_as_by_containerd() {
    let mut count = 0;
    for entry in fs::read_dir(fixtures()).unwrap() {
        let folder = entry.unwrap().path();
        let expected = fs::read_to_string(folder.join("expected.txt")).unwrap();
        let certs = certs_d(&folder);
        let hosts = expected.lines().filter(|line| !line.starts_with(' '));
        let answers: String = hosts.map(|host| answer(&certs, host)).collect();
        assert_eq!(answers, expected, "{}", folder.display());
        count += 1;
    }
    assert!(count > 10, "the fixtures are there");
}

#[test]
fn each_file_that_containerd_refuses_is_refused() {
    let certs = certs_d(&fixtures().join("a-refused-file-is-as-good-as-none"));
    let refusals: Vec<_> = certs
        .folders()
        .filter_map(|(name, folder)| match folder {
            Folder::Refused(error) => Some(format!("{name} {}: {error}", error.at)),
            _ => None,
        })
        .collect();
    let mirror = "host.https://mirror.example.com";
    let expected = [
        format!("a.example.com {mirror}.capabilities[1]: unknown capability delete"),
        format!("b.example.com {mirror}.skip_verify: expected true or false, found string"),
        format!(
            "c.example.com {mirror}:port: unable to parse server https://mirror.example.com:port: parse \
             \"https://mirror.example.com:port\": invalid port \":port\" after host"
        ),
        "d.example.com : unclosed table, expected `]`".to_owned(),
        format!("e.example.com {mirror}.ca: invalid type integer for \"ca\""),
        format!("f.example.com {mirror}.client[0]: invalid pair of 1 for \"client\""),
        format!("g.example.com {mirror}.dial_timeout: time: missing unit in duration \"5\""),
        format!("h.example.com {mirror}.header.x-one: invalid type integer for header \"x-one\""),
        "i.example.com host: expected a table, found array".to_owned(),
        "j.example.com : duplicate key".to_owned(),
        "k.example.com server: expected a string, found array".to_owned(),
    ];
    assert_eq!(refusals, expected);
}

#[test]
fn a_credential_is_addressed_to_the_host_that_is_connected_to() {
    let mut certs = CertsD::default();
    certs.insert("docker.io", Some("[host.\"http://127.0.0.1:5000\"]\ncapabilities = [\"pull\"]"));
    let addresses = |image: &str| -> Vec<_> {
        let reference = Reference::parse(Dialect::Runtime, image).unwrap();
        certs.sources(&reference).iter().map(|endpoint| (endpoint.role, endpoint.server_address())).collect()
    };
    let hub = (EndpointRole::Server, "https://registry-1.docker.io".to_owned());
    let mirror = (EndpointRole::Host, "http://127.0.0.1:5000".to_owned());
    assert_eq!(addresses("nginx:1"), std::slice::from_ref(&hub));
    assert_eq!(addresses(&format!("nginx:1@sha256:{}", "a".repeat(64))), [mirror, hub]);
    assert!(certs.endpoints("docker.io")[0].serves(By::Digest));
}

#[test]
fn a_folder_is_named_after_its_host_and_port() {
    for (host, folder) in [
        ("docker.io", "docker.io"),
        ("registry.example.com:5000", "registry.example.com_5000_"),
        ("[::1]:5000", "[::1]_5000_"),
    ] {
        assert_eq!(folder_name(host), folder);
        assert_eq!(host_of_folder(folder).as_deref(), Some(host));
    }
    assert_eq!(host_of_folder("registry.example.com:5000").as_deref(), Some("registry.example.com:5000"));
    assert_eq!(host_of_folder("_default"), None);
}
