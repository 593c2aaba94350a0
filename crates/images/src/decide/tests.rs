//! Tests which calls are made, in which order and for which hosts.

use pullwright_engine::containerd::CertsD;
use pullwright_engine::reference::Dialect;
use pullwright_engine::registries::ConfFile;
use pullwright_protobuf::{last, text};

use super::*;

const MIRRORED: &str = r#"
[[registry]]
location = "docker.io"
[[registry.mirror]]
location = "mirror-a.example:5000/hub"
[[registry.mirror]]
location = "mirror-b.example"
"#;

const HOSTS: &str = r#"
server = "https://registry-1.docker.io"
[host."http://mirror-a.example:5000/v2/hub"]
[host."https://mirror-b.example:443"]
"#;

struct Case<'a> {
    registries: &'a str,
    hosts_toml: Option<&'a str>,
    file: &'a str,
}

impl Case<'_> {
    fn decide(&self, image: &str) -> Calls {
        let reference = Reference::parse(Dialect::Kubelet, image).unwrap();
        let conf = ConfFile::parse(self.registries).unwrap();
        let mut certs_d = CertsD::default();
        if let Some(text) = self.hosts_toml {
            certs_d.insert(reference.domain(), Some(text));
        }
        decide(&CallInputs {
            reference: &reference,
            registries: &RegistriesConf::merge([("registries.conf".into(), conf)]),
            endpoints: &certs_d.endpoints(reference.domain()),
            file: &AuthFile::parse(self.file.as_bytes()).unwrap(),
        })
    }

    /// `user -> server address` of each call.
    fn calls(&self, image: &str) -> Vec<String> {
        shown(&self.decide(image).calls)
    }
}

fn shown(calls: &[Call]) -> Vec<String> {
    let field = |call: &Call, number| text(last(call.auth.expose(), number).unwrap()).unwrap().to_owned();
    calls.iter().map(|call| format!("{} -> {}", field(call, 1), field(call, 4))).collect()
}

/// `{"auths": {"host": {"auth": base64("<user>:p")}}}`
fn file(entries: &[(&str, &str)]) -> String {
    let entries = entries.iter().map(|(key, user)| {
        let auth = pullwright_golang::base64::encode(format!("{user}:p").as_bytes());
        format!("\"{key}\": {{\"auth\": \"{auth}\"}}")
    });
    format!("{{\"auths\": {{{}}}}}", entries.collect::<Vec<_>>().join(","))
}

#[test]
fn each_source_gets_its_credential_at_the_host_that_containerd_connects_to() {
    let file = file(&[("mirror-a.example:5000/hub", "a"), ("mirror-b.example", "b"), ("docker.io", "own")]);
    let case = Case { registries: MIRRORED, hosts_toml: Some(HOSTS), file: &file };
    assert_eq!(
        case.calls("nginx"),
        [
            "a -> http://mirror-a.example:5000",
            "b -> https://mirror-b.example:443",
            "own -> https://registry-1.docker.io"
        ]
    );
}

#[test]
fn docker_hub_is_called_what_containerd_calls_it() {
    let file = file(&[("docker.io", "own")]);
    let addressed = |hosts_toml| Case { registries: "", hosts_toml, file: &file }.calls("nginx");
    assert_eq!(addressed(None), ["own -> https://registry-1.docker.io"]);
    assert_eq!(addressed(Some("server = \"https://docker.io\"")), ["own -> https://docker.io"]);
    // A registry that replaces Docker Hub altogether.
    assert_eq!(addressed(Some("server = \"http://hub.internal:5000\"")), ["own -> http://hub.internal:5000"]);
}

#[test]
fn a_registry_on_this_machine_is_plain_as_containerd_has_it() {
    let file = file(&[("127.0.0.1:5000", "u"), ("quay.io", "q")]);
    let case = Case { registries: "", hosts_toml: None, file: &file };
    assert_eq!(case.calls("quay.io/x/y"), ["q -> https://quay.io"]);
    let local = case.calls("127.0.0.1:5000/x");
    assert!(local[0].ends_with("://127.0.0.1:5000"), "{local:?}");
}

#[test]
fn a_mirror_that_containerd_does_not_ask_comes_last_and_is_still_bound() {
    let file = file(&[("mirror-a.example:5000", "a"), ("mirror-b.example", "b")]);
    let only_b = "[host.\"https://mirror-b.example\"]";
    let case = Case { registries: MIRRORED, hosts_toml: Some(only_b), file: &file };
    assert_eq!(case.calls("nginx"), ["b -> https://mirror-b.example", "a -> https://mirror-a.example:5000"]);
    let said = case.decide("nginx").calls[1].origin.to_string();
    assert!(said.contains("not among the hosts that containerd asks"), "{said}");
}

/// `user -> server address` of each call with the kubelet's credential.
fn with_kubelets_auth(auth: &[u8]) -> Vec<String> {
    let reference = Reference::parse(Dialect::Kubelet, "nginx").unwrap();
    let mut certs_d = CertsD::default();
    certs_d.insert(reference.domain(), Some(HOSTS));
    shown(&with_kubelets(&reference, &certs_d.endpoints(reference.domain()), auth).calls)
}

#[test]
fn what_the_kubelet_sent_is_for_the_own_registry_only() {
    assert_eq!(with_kubelets_auth(b"\x0a\x01k\x12\x01p"), ["k -> https://registry-1.docker.io"]);
}

#[test]
fn an_empty_answer_for_the_pull_record_is_no_call() {
    for auth in [&b""[..], b"\x0a\0\x12\0"] {
        assert_eq!(with_kubelets_auth(auth), [""; 0]);
    }
}

#[test]
fn one_credential_for_one_host_is_one_call() {
    let registries = r#"
[[registry]]
location = "docker.io"
[[registry.mirror]]
location = "m.example/one"
[[registry.mirror]]
location = "m.example/two"
"#;
    let one = file(&[("m.example", "m")]);
    let case = Case { registries, hosts_toml: Some("[host.\"https://m.example\"]"), file: &one };
    assert_eq!(case.calls("nginx"), ["m -> https://m.example"]);
    let two = file(&[("m.example/one", "m1"), ("m.example/two", "m2")]);
    let case = Case { file: &two, ..case };
    assert_eq!(case.calls("nginx"), ["m1 -> https://m.example", "m2 -> https://m.example"]);
}

#[test]
fn a_mirror_that_does_not_serve_this_kind_of_pull_gets_no_call() {
    let registries = MIRRORED.replacen(
        "location = \"docker.io\"",
        "location = \"docker.io\"\nmirror-by-digest-only = true",
        1,
    );
    let file = file(&[("mirror-b.example", "b"), ("docker.io", "own")]);
    let case = Case { registries: &registries, hosts_toml: Some(HOSTS), file: &file };
    assert_eq!(case.calls("nginx:1"), ["own -> https://registry-1.docker.io"]);
    let digest = format!("nginx@sha256:{}", "a".repeat(64));
    assert_eq!(case.calls(&digest)[0], "b -> https://mirror-b.example:443");
}

#[test]
fn a_source_without_a_call_says_why() {
    let registries = r#"
[[registry]]
location = "quay.io"
[[registry.mirror]]
location = "nothing.example"
[[registry.mirror]]
location = "helper.example"
[[registry.mirror]]
location = "broken.example"
[[registry.mirror]]
location = "nobody.example"
[[registry.mirror]]
location = "blocked.example"
[[registry]]
location = "blocked.example"
blocked = true
"#;
    let file = r#"{
        "auths": {"broken.example": {"auth": "*"}, "nobody.example": {"auth": "OnA="}, "blocked.example": {"auth": "dTpw"}},
        "credHelpers": {"helper.example": "desktop"}
    }"#;
    let case = Case { registries, hosts_toml: None, file };
    let decided = case.decide("quay.io/x");
    assert_eq!(decided.calls, []);
    let said: Vec<_> =
        decided.passed_over.iter().map(|passed| format!("{}: {}", passed.repository, passed.why)).collect();
    assert_eq!(
        said,
        [
            "nothing.example/x: no credential",
            "helper.example/x: its credential helper \"desktop\" is not run by this service",
            "broken.example/x: illegal base64 data at input byte 0",
            "nobody.example/x: its credential has no user name",
            "blocked.example/x: blocked by \"blocked.example\" in registries.conf",
            "quay.io/x: no credential",
        ]
    );
}

#[test]
fn nothing_secret_is_shown() {
    let file = file(&[("mirror-b.example", "robot-user")]);
    let case = Case { registries: MIRRORED, hosts_toml: Some(HOSTS), file: &file };
    let decided = format!("{:?}", case.decide("nginx"));
    assert!(!decided.contains("robot-user") && decided.contains("mirror-b.example"), "{decided}");
}
