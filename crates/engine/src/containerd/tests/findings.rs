//! What is worth telling about a file that containerd accepts.

use crate::containerd::HostsToml;

fn findings(text: &str) -> Vec<String> {
    let file = HostsToml::parse(text).unwrap();
    file.findings().iter().map(|finding| format!("{} {}", finding.rule.name(), finding.at)).collect()
}

#[test]
fn what_is_passed_over_is_told() {
    let text = "server = 'https://s.io'\nskipverify = true\n[host.'https://a.io']\nserver = 'https://b.io'\n\
        [host.'https://a.io'.rewrite]\n'a' = 'b'\n[host.'https://a.io'.host.'https://c.io']\n";
    let file = HostsToml::parse(text).unwrap();
    let told: Vec<_> =
        file.findings().iter().map(|finding| format!("{}: {}", finding.at, finding.remedy())).collect();
    assert_eq!(
        told,
        [
            "skipverify: did you mean \"skip_verify\"?",
            "host.https://a.io.server: put it before the first table: here it belongs to this host",
            "host.https://a.io.rewrite: only the containerd of K3s and RKE2 rewrites names, as their registries.yaml says",
            "host.https://a.io.host: hosts of a host are not supported; list them in the order to ask",
        ]
    );
}

#[test]
fn hosts_that_are_not_asked_as_meant_are_told() {
    assert_eq!(findings("host.'https://a.io'.ca = 'x'"), ["containerd/host-ignored host.https://a.io"]);
    assert_eq!(
        findings("[host.'https://a.io']\n[host.'b.io']\n[host.'https://a.io'.header]\n"),
        ["containerd/host-twice host.https://a.io"]
    );
    assert_eq!(findings("[host.'http.io']"), ["containerd/unusable-host host.http.io"]);
    assert_eq!(findings("server = 'httpx://a.io'"), ["containerd/unusable-host server"]);
    assert_eq!(findings("capabilities = ['push']"), ["containerd/capabilities-ignored capabilities"]);
}

#[test]
fn a_path_of_which_v2_is_the_end_is_told_unless_it_is_written() {
    assert_eq!(findings("[host.'https://a.io/hub']"), ["containerd/path-before-v2 host.https://a.io/hub"]);
    assert_eq!(findings("[host.'https://a.io/hub/v2']"), [""; 0]);
    assert_eq!(findings("[host.'https://a.io/v2/hub']\noverride_path = true"), [""; 0]);
    assert_eq!(findings("[host.'https://a.io/']\n[host.'https://b.io/v2']"), [""; 0]);
}

#[test]
fn a_password_in_a_url_is_not_repeated() {
    let refused = HostsToml::parse("[host.'https://u:hunter2@a.io:port/x@y']").unwrap_err();
    let words = "unable to parse server https://…@a.io:port/x@y: parse \"https://…@a.io:port/x@y\": invalid port \
                 \":port\" after host";
    assert_eq!(refused.to_string(), words);
    let unusable = HostsToml::parse("[host.'httpx://u:hunter2@a.io']").unwrap();
    assert!(!unusable.findings()[0].message.contains("hunter2"));
}

#[test]
fn a_header_may_be_a_token_and_is_not_shown() {
    let file = HostsToml::parse("[header]\nAuthorization = 'Bearer hunter2'").unwrap();
    assert_eq!(file.server.header["Authorization"].expose(), &["Bearer hunter2".to_owned()]);
    assert!(!format!("{file:?}").contains("hunter2"));
}
