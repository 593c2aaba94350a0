use proptest::prelude::*;

use super::*;
use crate::kubelet::ImagePattern;

const V1: &str = "credentialprovider.kubelet.k8s.io/v1";

fn document(name: &str, patterns: &[&str], more: &str) -> String {
    let patterns = serde_json::to_string(patterns).unwrap();
    format!(
        r#"{{"apiVersion":"kubelet.config.k8s.io/v1","kind":"CredentialProviderConfig","providers":[
        {{"name":"{name}","apiVersion":"{V1}","defaultCacheDuration":"0s","matchImages":{patterns}{more}}}]}}"#
    )
}

fn shown(findings: &[Finding]) -> Vec<(&str, String)> {
    findings.iter().map(|finding| (finding.rule.name(), finding.at.to_string())).collect()
}

#[test]
fn patterns_that_never_match_or_match_too_much_are_reported() {
    for (pattern, rule, help) in [
        ("harbor.example.com/*", "kubelet/glob-in-path", "write `harbor.example.com`:"),
        ("harbor.example.com/team/*", "kubelet/glob-in-path", "write `harbor.example.com/team/`:"),
        ("https://quay.io/", "kubelet/scheme", "write `quay.io`"),
        ("index.docker.io/library", "kubelet/docker-io", "write `docker.io/library`"),
        ("Quay.io", "kubelet/upper-case", "write `quay.io`"),
        ("quay.io/Team/app", "kubelet/upper-case", "write `quay.io/team/app`"),
        ("quay.io?x", "kubelet/dropped-part", "write `quay.io`"),
        ("quay.io#x", "kubelet/dropped-part", "write `quay.io`"),
        ("user@quay.io", "kubelet/dropped-part", "write `quay.io`"),
        ("docker.io/library/nginx/", "kubelet/trailing-slash", "write `docker.io/library/nginx`"),
        ("*", "kubelet/single-label-host", "write as many labels"),
        ("registry", "kubelet/single-label-host", "write as many labels"),
        ("quay.io:443", "kubelet/port", "write `quay.io`, or both"),
        ("quay.io:99999", "kubelet/port", "write the port"),
        ("docker.io/lib", "kubelet/path-boundary", "end with a slash: `docker.io/lib/`; Docker Hub's own"),
        ("quay.io/team/app:latest", "kubelet/tag-in-pattern", "write `quay.io/team/app`"),
        ("quay.io/team//app", "kubelet/impossible-path", "write a path"),
        ("quay_.io", "kubelet/impossible-host", "globs in hosts"),
        ("[::1]", "kubelet/ipv6-without-port", "add the port"),
        ("/library", "kubelet/no-host", "begin with"),
    ] {
        let findings = lint(document("p", &[pattern], "").as_bytes());
        assert_eq!(shown(&findings), [(rule, "providers[0].matchImages[0]".into())], "{pattern}");
        let found = findings[0].help.as_ref().unwrap();
        assert!(found.starts_with(help), "{pattern}: {found}");
    }
}

#[test]
fn ordinary_patterns_are_not_reported() {
    let patterns = [
        "docker.io",
        "*.dkr.ecr.*.amazonaws.com",
        "*.azurecr.io",
        "registry.io:8080/path/",
        "quay.io/team/app",
        "localhost",
        "registry:5000",
        "[::1]:5000",
        "127.0.0.*:5000",
        "*.*",
    ];
    assert_eq!(lint(document("p", &patterns, "").as_bytes()), []);
}

#[test]
fn what_the_kubelet_refuses_is_an_error_at_its_place() {
    let twice = document("p", &["quay.io", "quay.io"], "");
    assert_eq!(
        shown(&lint(twice.as_bytes())),
        [("kubelet/repeated-pattern", "providers[0].matchImages[1]".into())]
    );
    let unknown = document("p", &["quay.io"], r#","unknownField":1"#);
    assert_eq!(shown(&lint(unknown.as_bytes())), [("kubelet/decode", "providers[0].unknownField".into())]);
    let invalid = document("a/b", &["quay.io", "%"], "");
    assert_eq!(
        shown(&lint(invalid.as_bytes())),
        [
            ("kubelet/invalid", "providers[0].name".into()),
            ("kubelet/invalid", "providers[0].matchImages[1]".into())
        ]
    );
    let same = document(
        "p",
        &["quay.io"],
        r#"},{"name":"p","matchImages":["a.io"],"defaultCacheDuration":"0s","apiVersion":"credentialprovider.kubelet.k8s.io/v1""#,
    );
    assert_eq!(shown(&lint(same.as_bytes())), [("kubelet/duplicate-name", "providers[1].name".into())]);
}

#[test]
fn our_provider_must_be_asked_for_every_pull_and_be_given_a_token() {
    let attributes = r#","tokenAttributes":{"serviceAccountTokenAudience":"a","cacheType":"Token","requireServiceAccount":false}"#;
    let good = document(PLUGIN, &["quay.io"], attributes);
    assert_eq!(lint(good.as_bytes()), []);
    for (document, rule, at) in [
        (good.replace("\"0s\"", "\"1m\""), "kubelet/cached-provider", "providers[0].defaultCacheDuration"),
        (
            good.replace("\"Token\"", "\"ServiceAccount\""),
            "kubelet/shared-cache",
            "providers[0].tokenAttributes.cacheType",
        ),
        (
            document(PLUGIN, &["quay.io"], ""),
            "kubelet/provider-without-token",
            "providers[0].tokenAttributes",
        ),
    ] {
        assert_eq!(shown(&lint(document.as_bytes())), [(rule, at.into())]);
    }
}

proptest! {
    /// The names are made as the kubelet makes them: a host with a dot or a port, or `localhost`; a path in lower case.
    #[test]
    fn what_is_said_never_to_match_never_does(
        pattern in "(https://)?[ab*]{0,2}(\\.[abA*_]{0,2}){0,2}(:[0-9]{0,2})?(/[ab*A:@]{0,2}){0,2}",
        image in "([ab]{1,2}(\\.[ab]{1,2}){1,2}(:[1-9][0-9]?)?|[ab]{1,2}:[1-9][0-9]?|localhost)(/[ab]{1,3}){1,3}",
    ) {
        let Ok(pattern) = ImagePattern::parse(pattern) else { return Ok(()) };
        let warning = pattern::warning(&DocPath::root(), &pattern);
        if warning.is_some_and(|warning| warning.message.contains("never matches")) {
            prop_assert!(!pattern.matches(&image), "{pattern} matches {image}");
        }
    }
}
