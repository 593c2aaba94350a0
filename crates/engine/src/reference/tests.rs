//! References as the kubelet and the runtime read them.

use proptest::prelude::*;

use super::*;

const SHA: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn kubelet(text: &str) -> Result<String, String> {
    Reference::parse(Dialect::Kubelet, text).map(|r| r.name().to_owned()).map_err(|e| e.to_string())
}

fn runtime(text: &str) -> Result<String, String> {
    Reference::parse(Dialect::Runtime, text).map(|r| r.to_string()).map_err(|e| e.to_string())
}

#[test]
fn the_kubelet_passes_the_name_without_tag_and_digest() {
    for (image, name) in [
        ("root", "docker.io/library/root"),
        ("root:tag", "docker.io/library/root"),
        ("user/repo", "docker.io/user/repo"),
        ("user/repo:tag", "docker.io/user/repo"),
        ("docker.io/nginx", "docker.io/library/nginx"),
        ("index.docker.io/nginx:1", "docker.io/library/nginx"),
        ("url:5000/repo", "url:5000/repo"),
        ("localhost/foo", "localhost/foo"),
        ("Foo/bar", "Foo/bar"),
        ("[::1]:5000/x", "[::1]:5000/x"),
        ("under_score.io/x", "under_score.io/x"),
    ] {
        assert_eq!(kubelet(image).as_deref(), Ok(name), "{image}");
        assert_eq!(kubelet(&format!("{image}@{SHA}")).as_deref(), Ok(name), "{image} by digest");
    }
}

#[test]
fn what_is_no_reference_is_refused_in_the_library_s_words() {
    for (image, error) in [
        ("ROOT", "invalid reference format: repository name (library/ROOT) must be lowercase"),
        ("http://root", "invalid reference format"),
        ("", "invalid reference format"),
        ("a/b:", "invalid reference format"),
        ("a//b", "invalid reference format"),
        ("a/b@sha256:short", "invalid reference format"),
        (
            &"a".repeat(64),
            &format!(
                "invalid repository name ({}), cannot specify 64-byte hexadecimal strings",
                "a".repeat(64)
            ),
        ),
        (&format!("x/{}", "a".repeat(256)), "repository name must not be more than 255 characters"),
        (&format!("a/b@sha256:{}", "a".repeat(63)), "invalid checksum digest length"),
        (&format!("a/b@sha256:{}", "A".repeat(64)), "invalid checksum digest format"),
        (&format!("a/b@md5:{}", "a".repeat(32)), "unsupported digest algorithm"),
        (&format!("a/b:t@MD5:{}", "a".repeat(32)), "invalid checksum digest format"),
    ] {
        assert_eq!(kubelet(image), Err(error.to_owned()), "{image}");
    }
}

#[test]
fn the_runtime_knows_neither_upper_case_hosts_nor_ipv6() {
    assert_eq!(
        runtime("Foo/bar"),
        Err("invalid reference format: repository name must be lowercase".to_owned())
    );
    assert_eq!(runtime("Foo.io/bar:1").as_deref(), Ok("Foo.io/bar:1"));
    assert_eq!(runtime("[::1]:5000/x"), Err("invalid reference format".to_owned()));
}

#[test]
fn the_length_limit_counts_the_path_for_one_and_the_name_for_the_other() {
    let path = "a".repeat(250);
    assert!(kubelet(&format!("registry.example.com/{path}")).is_ok());
    assert!(runtime(&format!("registry.example.com/{path}")).is_err());
}

#[test]
fn canonical_means_as_it_is_displayed() {
    assert!(Reference::parse_canonical("docker.io/library/nginx:1").is_ok());
    for short in ["nginx", "docker.io/nginx", "index.docker.io/library/nginx", "mirror/x"] {
        assert_eq!(Reference::parse_canonical(short), Err(ReferenceError::NotCanonical), "{short}");
    }
}

#[test]
fn a_host_that_is_none_leaves_the_domain_empty() {
    let odd = Reference::parse(Dialect::Runtime, "under_score.io/x").unwrap();
    assert_eq!((odd.domain(), odd.name()), ("", "under_score.io/x"));
    let plain = Reference::parse(Dialect::Runtime, "quay.io:443/x:1").unwrap();
    assert_eq!((plain.domain(), plain.tag()), ("quay.io:443", Some("1")));
}

proptest! {
    /// parse∘render is the identity on everything that parses.
    #[test]
    fn a_displayed_reference_parses_to_itself(
        text in "([a-zA-Z0-9.:_-]{1,12}/)?[a-z0-9._/-]{1,20}(:[A-Za-z0-9_.-]{1,10})?(@sha256:[a-f0-9]{64})?",
    ) {
        for dialect in [Dialect::Kubelet, Dialect::Runtime] {
            if let Ok(reference) = Reference::parse(dialect, &text) {
                prop_assert_eq!(Reference::parse(dialect, &reference.to_string()), Ok(reference));
            }
        }
    }

    #[test]
    fn no_text_makes_the_parser_fall_over(text in any::<String>()) {
        let _ = Reference::parse(Dialect::Kubelet, &text);
        let _ = Reference::parse(Dialect::Runtime, &text);
    }
}
