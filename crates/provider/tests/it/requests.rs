//! What comes on standard input, and should not.

use pullwright_engine::kubelet::{ApiVersion, Request};

use crate::inputs::{request, request_with, token, token_saying, token_until};
use crate::stage::{IMAGE, MIRRORED, NAMESPACE, Stage};

const NO_TOKEN: &str = "No service account token in the request, nothing to provide";

#[test]
fn what_is_no_request_is_refused_by_name() {
    let of_kind = |kind: &str| request(&token(NAMESPACE)).replace("CredentialProviderRequest", kind);
    let of_version = |version: &str| request(&token(NAMESPACE)).replace("k8s.io/v1\"", version);
    for (stdin, said) in [
        (String::new(), "read credential provider request: unexpected end of JSON input"),
        ("{\"kind\":".to_owned(), "read credential provider request: unexpected end of JSON input"),
        ("canary-password".to_owned(), "read credential provider request: invalid character"),
        ("null".to_owned(), "read credential provider request: expected an object, found null"),
        (of_kind("Pod"), "kind is \"Pod\", expected \"CredentialProviderRequest\""),
        (
            of_version("k8s.io/v2\""),
            "apiVersion \"credentialprovider.kubelet.k8s.io/v2\" is not supported; set",
        ),
        (request(&token(NAMESPACE)).replace(IMAGE, ""), "image is empty"),
        (
            request(&token(NAMESPACE)).replace(IMAGE, "not an image"),
            "the image name \"not an image\" is not valid",
        ),
        (request(&token(NAMESPACE)) + "{}", "invalid character at line 2, column 1"),
    ] {
        let stage = Stage::with_secret_on_the_node();
        let ran = stage.plugin_with_folder().run(&stdin);
        assert!(ran.failed().contains(said), "{stdin}: {ran:?}");
        assert_eq!(stage.left(), [""; 0]);
    }
}

#[test]
fn a_request_without_end_is_not_read_to_its_end() {
    let stage = Stage::with_secret_on_the_node();
    let ran = stage.plugin_with_folder().run(vec![b' '; 5 << 20]);
    assert_eq!(ran.failed(), "the request has more than 4 MiB");
}

#[test]
fn each_version_is_answered_in_kind() {
    for version in [ApiVersion::V1Alpha1, ApiVersion::V1Beta1, ApiVersion::V1] {
        let stage = Stage::with_secret_on_the_node();
        let ran = stage.plugin_with_folder().run(Request::anonymous(version, IMAGE).render());
        let (response, said) = ran.answered_in(version);
        assert!(response.auth.is_empty());
        assert_eq!(said, NO_TOKEN);
        assert_eq!(stage.left(), [""; 0]);
    }
}

/// The kubelet drops the token when it converts to these versions, so one that comes all the same is nobody's.
#[test]
fn a_token_in_a_version_without_tokens_is_not_used() {
    let stage = Stage::with_secret_on_the_node();
    let stdin = request(&token(NAMESPACE)).replace("k8s.io/v1\"", "k8s.io/v1beta1\"");
    let ran = stage.plugin_with_folder().run(stdin);
    assert_eq!(ran.answered_in(ApiVersion::V1Beta1).1, NO_TOKEN);
}

#[test]
fn a_namespace_cannot_leave_the_auth_folder() {
    for namespace in ["../elsewhere", "a/b", "..", "Team", ""] {
        let stage = Stage::with_secret_on_the_node();
        let ran = stage.plugin_with_folder().run(request(&token(namespace)));
        assert_eq!(
            ran.failed(),
            "read service account token: claim kubernetes.io.namespace is not a DNS label"
        );
        assert_eq!(stage.left(), [""; 0]);
    }
}

#[test]
fn what_is_no_token_is_refused_unseen() {
    let other = r#"{"sub":"system:serviceaccount:team-b:default",
        "kubernetes.io":{"namespace":"team-a","serviceaccount":{"name":"default"}}}"#;
    for (token, said) in [
        ("canary-password".to_owned(), "it is not a JSON web token"),
        ("e30.canary-password.e30".to_owned(), "it is not a JSON web token"),
        (token_saying("{}"), "claim kubernetes.io is missing or not of its type"),
        (token_saying(other), "claim sub does not agree with the namespace and service account"),
    ] {
        let stage = Stage::with_secret_on_the_node();
        let ran = stage.plugin_with_folder().run(request(&token));
        assert_eq!(ran.failed(), format!("read service account token: {said}"));
        assert_eq!(stage.left(), [""; 0]);
    }
}

/// Nobody is shown a token that has ended: the answer would be 401, which sends people to look for the audience.
#[test]
fn an_expired_token_is_not_shown_to_the_api_server() {
    let stage = Stage::new();
    let here = stage.path("nobody-reads-this");
    let plugin = stage.plugin().args(&["--server", "https://127.0.0.1:1"]).arg("--certificate-authority");
    let ran = plugin.arg(here).run(request(&token_until(NAMESPACE, 1_700_000_000)));
    let said = ran.failed();
    assert!(said.starts_with("the service account token expired "), "{said}");
    assert!(said.ends_with(" s ago: is the node's clock right?"), "{said}");
    assert_eq!(stage.left(), [""; 0]);
}

/// An edge node may not know what time it is, and needs no API server either.
#[test]
fn an_expired_token_still_says_the_namespace() {
    let stage = Stage::with_secret_on_the_node();
    let ran = stage.plugin_with_folder().run(request(&token_until(NAMESPACE, 1_700_000_000)));
    assert!(ran.answered().1.starts_with("Wrote auth file to "), "{ran:?}");
    assert_eq!(stage.users_for(&[MIRRORED]), [Some("puller".to_owned())]);
}

#[test]
fn an_annotation_of_a_megabyte_is_no_reason_to_fail() {
    let stage = Stage::with_secret_on_the_node();
    let long = "x".repeat(1 << 20);
    let stdin = request_with(&token(NAMESPACE), &[("example.com/long", &long)]);
    assert!(stage.plugin_with_folder().run(stdin).answered().1.starts_with("Wrote auth file to "));
}

/// A file for each namespace and repository, under the name that CRI-O looks for.
#[test]
fn the_file_is_where_the_runtime_looks() {
    let stage = Stage::with_secret_on_the_node();
    let ran = stage.plugin_with_folder().ask();
    let hash = "7e59ad64326bc321517fb6fc6586de5ee149178394d9edfa2a877176cdf6fad5";
    let path = stage.auth_dir().join(format!("team-a-{hash}.json"));
    let (response, said) = ran.answered();
    assert_eq!(said, format!("Wrote auth file to {} with 1 number of entries", path.display()));
    assert_eq!(response.auth.keys().collect::<Vec<_>>(), [IMAGE]);
    assert_eq!(stage.users_for(&[MIRRORED, IMAGE]), [Some("puller".to_owned()), None]);
}

#[test]
fn what_is_no_request_is_not_repeated_at_length() {
    let stage = Stage::with_secret_on_the_node();
    let long = "x".repeat(1 << 20);
    for (from, to) in
        [("CredentialProviderRequest", long.as_str()), ("credentialprovider.kubelet.k8s.io/v1", &long)]
    {
        // `failed` holds the line to less than a thousand bytes.
        let ran = stage.plugin_with_folder().run(request(&token(NAMESPACE)).replace(from, to));
        assert!(ran.failed().starts_with("read credential provider request: "), "{ran:?}");
    }
}
