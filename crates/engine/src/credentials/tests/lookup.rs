//! containers/image's own vectors for lookups in a file, and those derived from its source.

use super::super::{AuthFile, LegacyAuthFile, Lookup, Sensitive};
use super::{auth_file, basic};
use crate::credentials::Credential;

const PLAIN_HOST: &str = include_str!("../../../testdata/auth/plain-host.json");
const PORTS: &str = include_str!("../../../testdata/auth/hosts-with-ports-and-without.json");
const URLS: &str = include_str!("../../../testdata/auth/keys-that-are-urls.json");
const NAMESPACES: &str = include_str!("../../../testdata/auth/keys-with-namespaces.json");
const IDENTITY_TOKEN: &str = include_str!("../../../testdata/auth/identity-token-beside-auth.json");
const LEGACY: &str = include_str!("../../../testdata/auth/legacy-keys-that-are-urls.dockercfg");

const OK: &str = r#"{"auth": "dTpw"}"#;

fn found(lookup: Lookup) -> Option<Credential> {
    match lookup {
        Lookup::Found { credential, .. } => Some(credential),
        Lookup::None { .. } => None,
        other => panic!("{other:?}"),
    }
}

fn lookup(text: &str, key: &str) -> Option<Credential> {
    found(auth_file(text).lookup(key))
}

#[test]
fn upstream_vectors() {
    type Case = (&'static str, &'static str, Option<(&'static str, &'static str)>);
    let cases: &[Case] = &[
        (PLAIN_HOST, "", None),
        (PLAIN_HOST, "registry.example.org", None),
        (PLAIN_HOST, "example.org", Some(("example", "org"))),
        (PORTS, "docker.io", Some(("docker", "io"))),
        (URLS, "docker.io", Some(("index", "docker.io"))),
        (PORTS, "normalize.example.org", Some(("normalize", "example"))),
        (PORTS, "localhost", Some(("local", "host"))),
        (PORTS, "10.10.30.45:5000", Some(("10.10", "30.45-5000"))),
        (URLS, "localhost:5000", Some(("local", "host-5000"))),
        ("{}", "localhost:5000", None),
        (NAMESPACES, "example.org/repo/image", Some(("example", "org"))),
        (NAMESPACES, "example.org/repo", Some(("example", "org"))),
        (NAMESPACES, "example.org/image", Some(("local", "host"))),
        (NAMESPACES, "docker.io/library/busybox", Some(("library", "busybox"))),
        (NAMESPACES, "docker.io/library/notbusybox", Some(("library", "other"))),
        (NAMESPACES, "docker.io/vendor/product", Some(("first", "level"))),
        (NAMESPACES, "docker.io/vendor", Some(("first", "level"))),
        (NAMESPACES, "docker.io/other-vendor/other-product", Some(("top", "level"))),
        (r#"{"auths": {"quay.io/foo": {"auth": "dTpw"}}}"#, "quay.io/foo/a", Some(("u", "p"))),
        (r#"{"auths": {"quay.io/foo": {"auth": "dTpw"}}}"#, "quay.io/bar", None),
        (r#"{"auths": {"https://quay.io/v1/": {"auth": "dTpw"}}}"#, "quay.io/foo", Some(("u", "p"))),
        (
            r#"{"auths": {"https://index.docker.io/v1/": {"auth": "dTpw"}}}"#,
            "docker.io/library/busybox",
            Some(("u", "p")),
        ),
        (
            r#"{"auths": {"https://index.docker.io/v1/": {"auth": "dTpw"}}}"#,
            "docker.io/notlibrary/busybox",
            Some(("u", "p")),
        ),
    ];
    for (text, key, expected) in cases {
        assert_eq!(
            lookup(text, key),
            expected.map(|(user, password)| basic(user, password)),
            "{key} in {text}"
        );
    }
    assert_eq!(found(AuthFile::missing().lookup("index.docker.io")), None);
}

#[test]
fn an_identity_token_comes_with_its_user() {
    let expected = Credential {
        username: "00000000-0000-0000-0000-000000000000".into(),
        password: Sensitive::default(),
        identity_token: Some("some very long identity token".into()),
    };
    assert_eq!(lookup(IDENTITY_TOKEN, "example.org"), Some(expected));
}

#[test]
fn the_legacy_format_knows_hosts_only() {
    let file = LegacyAuthFile::parse(LEGACY.as_bytes()).unwrap();
    assert_eq!(found(file.lookup("localhost")), Some(basic("local", "host-legacy")));
    assert_eq!(found(file.lookup("docker.io")), Some(basic("docker", "io-legacy")));
    assert_eq!(found(file.lookup("docker.io/library/busybox")), Some(basic("docker", "io-legacy")));
    let file = LegacyAuthFile::parse(br#"{"quay.io/foo": {"auth": "dTpw"}, "x.io": {}}"#).unwrap();
    assert_eq!(
        found(file.lookup("quay.io/bar")),
        Some(basic("u", "p")),
        "a path in a key means nothing here"
    );
    let file = LegacyAuthFile::parse(br#"{"https://quay.io/v1/": {"auth": "dTpw"}}"#).unwrap();
    assert_eq!(found(file.lookup("quay.io")), Some(basic("u", "p")));
}

#[test]
fn keys_are_tried_from_the_most_specific_to_the_host() {
    let names =
        ["quay.io/a/b/c/d/image", "quay.io/a/b/c/d", "quay.io/a/b/c", "quay.io/a/b", "quay.io/a", "quay.io"];
    for (position, expected) in names.iter().enumerate() {
        let entries: Vec<String> =
            names[position..].iter().map(|name| format!(r#""{name}": {OK}"#)).collect();
        let file = auth_file(&format!(r#"{{"auths": {{{}}}}}"#, entries.join(",")));
        let Lookup::Found { key, .. } = file.lookup(names[0]) else { panic!("nothing under {expected}") };
        assert_eq!(key, *expected);
    }
}

#[test]
fn names_that_are_no_repositories_are_refused_before_the_file_counts() {
    let file = AuthFile::missing();
    for (key, error) in [
        ("https://my-registry.local", "key https://my-registry.local contains http[s]:// prefix"),
        ("host/foo:tag", "key host/foo:tag contains a ':' character after host[:port]"),
        ("host/foo@digest", "key host/foo@digest contains a '@' character"),
        ("localhost:5000/repo:tag", "key localhost:5000/repo:tag contains a ':' character after host[:port]"),
        ("localhost:5000/repo@digest", "key localhost:5000/repo@digest contains a '@' character"),
    ] {
        let Lookup::Failed(failed) = file.lookup(key) else { panic!("{key} was looked up") };
        assert_eq!(failed.to_string(), error);
    }
    assert_eq!(file.lookup("localhost:5000/repo"), Lookup::None { stopped_at: None });
}

#[test]
fn the_first_key_that_exists_is_final() {
    let file = auth_file(&format!(r#"{{"auths": {{"q.io/a": {{}}, "q.io": {OK}}}}}"#));
    assert_eq!(file.lookup("q.io/a/b"), Lookup::None { stopped_at: Some("q.io/a") });
    let file = auth_file(&format!(r#"{{"auths": {{"q.io/a": {{"auth": "!"}}, "q.io": {OK}}}}}"#));
    let Lookup::Failed(error) = file.lookup("q.io/a/b") else { panic!("a bad entry was passed over") };
    assert_eq!(error.to_string(), "illegal base64 data at input byte 0");
}

#[test]
fn a_helper_of_the_host_comes_before_every_entry() {
    let file = auth_file(&format!(
        r#"{{"auths": {{"q.io/a": {OK}}}, "credHelpers": {{"q.io": "h", "docker.io": null}}}}"#
    ));
    assert_eq!(file.lookup("q.io/a"), Lookup::Helper { name: "h" });
    assert_eq!(file.lookup("docker.io/a"), Lookup::Helper { name: "" }, "null is an empty name");
    assert_eq!(
        file.lookup("index.docker.io/a"),
        Lookup::None { stopped_at: None },
        "hosts of helpers have no aliases"
    );
}

#[test]
fn hosts_are_compared_without_scheme_path_and_alias() {
    let key_for = |keys: &[&str], name: &str| {
        let entries: Vec<String> = keys.iter().map(|key| format!(r#""{key}": {OK}"#)).collect();
        match auth_file(&format!(r#"{{"auths": {{{}}}}}"#, entries.join(","))).lookup(name) {
            Lookup::Found { key, .. } => Some(key.to_owned()),
            _ => None,
        }
    };
    assert_eq!(key_for(&["docker.io"], "index.docker.io").as_deref(), Some("docker.io"));
    assert_eq!(key_for(&["https://q.io/ns"], "q.io/x").as_deref(), Some("https://q.io/ns"), "the whole host");
    assert_eq!(key_for(&["http://https://q.io"], "q.io").as_deref(), Some("http://https://q.io"));
    assert_eq!(key_for(&["https://"], "").as_deref(), Some("https://"));
    for never in ["q.io/", "q.io/ns", "*.io", "HTTPS://q.io", "https://http://q.io", "q.io.evil.com"] {
        assert_eq!(key_for(&[never], "q.io/x"), None, "{never}");
    }
    assert_eq!(
        key_for(&["https://q.io/z", "http://q.io", "https://q.io"], "q.io").as_deref(),
        Some("http://q.io")
    );
}
