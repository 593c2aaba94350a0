//! Secrets: which are used, and that damage stays where it is.

use serde_json::json;

use super::super::{PullSecret, Secret, SecretError, WantedRepositories};
use super::{basic, pull_secret, secret};
use pullwright_findings::Severity;
use pullwright_golang::base64;

const CONFIG_JSON: (&str, &str) = ("kubernetes.io/dockerconfigjson", ".dockerconfigjson");
const CFG: (&str, &str) = ("kubernetes.io/dockercfg", ".dockercfg");

fn read(kind: &str, key: &str, document: &str) -> Result<PullSecret, SecretError> {
    PullSecret::read(&secret("s", kind, key, document))
}

#[test]
fn a_secret_is_used_when_type_and_key_agree() {
    let auths = r#"{"auths": {"q.io": {"auth": "dTpw"}}}"#;
    let bare = r#"{"q.io": {"auth": "dTpw"}}"#;
    for good in [read(CONFIG_JSON.0, CONFIG_JSON.1, auths), read(CFG.0, CFG.1, bare)] {
        assert_eq!(good.unwrap().entries()[0].credential, basic("u", "p"));
    }
    let missing =
        |result: Result<PullSecret, SecretError>| matches!(result, Err(SecretError::MissingKey { .. }));
    assert!(missing(read(CONFIG_JSON.0, CFG.1, bare)));
    assert!(missing(read(CFG.0, CONFIG_JSON.1, auths)));
    assert!(missing(read(CONFIG_JSON.0, CONFIG_JSON.1, "")));
    assert!(matches!(read("Opaque", CONFIG_JSON.1, auths), Err(SecretError::Type { .. })));
    assert!(matches!(read(CONFIG_JSON.0, CONFIG_JSON.1, "{"), Err(SecretError::Document { .. })));
}

#[test]
fn a_secret_for_other_hosts_is_nothing_to_a_pull_unless_it_was_cut() {
    let about = |document: &'static str| {
        let name = || secret("s", CONFIG_JSON.0, CONFIG_JSON.1, "{}").name;
        let wanted = WantedRepositories::of(["q.io/team/app"]);
        PullSecret::about(&wanted, name, CONFIG_JSON.0, |_| Some(document.as_bytes()))
    };
    let entries = |document| about(document).unwrap().map(|read| read.entries().len());
    assert_eq!(entries(r#"{"auths": {"q.io": {"auth": "dTpw"}, "x.io": {"auth": "dTpw"}}}"#), Some(1));
    assert_eq!(entries(r#"{"auths": {"x.io": {"auth": "dTpw"}}}"#), None);
    assert!(matches!(about(r#"{"auths": {"x.io""#), Err(SecretError::Document { .. })), "cut");
    assert!(matches!(about("eyJhdXRocyI6e319"), Err(SecretError::Document { .. })), "encoded twice");
}

/// Six bytes are an entry: a Secret has room for more than a hundred thousand.
#[test]
fn what_is_kept_of_a_secret_for_a_pull_does_not_grow_with_it() {
    let numbers = |count: usize| (0..count).map(|number| format!("\"{number}\":0,")).collect::<String>();
    let about = |count| {
        let entries = format!(
            "\"q.io\": {{\"auth\": \"dTpw\"}},{} \"q.io/last\": {{\"auth\": \"dTpw\"}}",
            numbers(count)
        );
        let document = format!("{{\"auths\": {{{entries}}}}}");
        let name = || secret("s", CONFIG_JSON.0, CONFIG_JSON.1, "{}").name;
        let data = |_: &str| Some(document.as_bytes());
        let read = PullSecret::about(&WantedRepositories::of(["q.io/last"]), name, CONFIG_JSON.0, data);
        let read = read.unwrap().unwrap();
        (read.entries().len(), read.findings().len(), read.more_findings(), read.unread())
    };
    assert_eq!(about(2), (2, 2, 0, 0));
    assert_eq!(about(9_998), (2, 3, 9_995, 0));
    assert_eq!(about(100_000), (1, 3, 9_996, 90_002), "the first ones count");
}

/// Each part of a scope is a place in the index, and a key is shown wherever it is chosen.
#[test]
fn a_key_that_is_longer_than_any_repository_is_not_used() {
    let key = format!("q.io{}", "/a".repeat(600));
    let read = pull_secret("s", &format!("{{\"{key}\": {{\"auth\": \"dTpw\"}}}}"));
    assert_eq!(read.entries(), []);
    assert_eq!(read.findings()[0].message, "the key is longer than any repository's name");
}

#[test]
fn a_broken_entry_hurts_only_itself_and_is_reported_without_content() {
    let read = pull_secret(
        "s",
        r#"{"a.io": {"auth": "!s3cret"}, "b.io": "s3cret", "c.io": {"username": "u", "password": ["s3cret"]}, "d.io": {},
            "*.e.io": {"auth": "dTpw"}, "https://u:s3cret@f.io": {"auth": "dTpw"}, "good.io": {"auth": "dTpw"}}"#,
    );
    let usable: Vec<_> = read.entries().iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(usable, ["good.io"]);
    let told: Vec<String> =
        read.findings().iter().map(|finding| format!("{}: {}", finding.at, finding.message)).collect();
    assert_eq!(
        told,
        [
            "data..dockerconfigjson.auths.*.e.io: the key has a wildcard, and CRI-O does not know wildcards in credentials",
            "data..dockerconfigjson.auths.a.io: the auth field is no base64: illegal base64 data at input byte 0",
            "data..dockerconfigjson.auths.b.io: the entry is a string instead of an object",
            "data..dockerconfigjson.auths.c.io: password is a list instead of a string",
            "data..dockerconfigjson.auths.d.io: the entry has neither user name, password nor identity token",
            "data..dockerconfigjson.auths.…@f.io: the key has an '@', so it is no repository",
        ]
    );
    assert!(!format!("{read:?}").contains("s3cret"));
}

#[test]
fn of_two_spellings_the_plain_one_comes_first() {
    let read = pull_secret(
        "s",
        r#"{"https://q.io": {"auth": "dTpw"}, "q.io": {"auth": "dTpw"}, "http://q.io/": {"auth": "dTpw"}}"#,
    );
    let keys: Vec<_> = read.entries().iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys, ["q.io", "http://q.io/", "https://q.io"]);
}

#[test]
fn a_manifest_holds_base64_or_plain_text() {
    let document = r#"{"auths": {"q.io": {"auth": "dTpw"}}}"#;
    let manifest = |section: &str, text: &str| json!({"kind": "Secret", "type": CONFIG_JSON.0, "metadata": {"name": "s"}, section: {CONFIG_JSON.1: text, "other": 5}});
    let name = |secret: &Secret| secret.name.to_string();
    for manifest in [manifest("data", &base64::encode(document.as_bytes())), manifest("stringData", document)]
    {
        let secret = Secret::from_manifest(&manifest, "team").unwrap();
        assert_eq!(name(&secret), "team/s");
        assert_eq!(PullSecret::read(&secret).unwrap().entries().len(), 1);
        assert!(!format!("{secret:?}").contains("dTpw"));
    }
    let mut both = manifest("data", "!");
    both["stringData"] = json!({CONFIG_JSON.1: document});
    assert!(Secret::from_manifest(&both, "team").is_ok(), "stringData overrides data");

    let error = Secret::from_manifest(&manifest("data", "!s3cret"), "team").unwrap_err();
    assert_eq!(error.to_string(), "data..dockerconfigjson: illegal base64 data at input byte 0");
    let finding = error.finding();
    assert_eq!(
        (finding.severity, finding.at.to_string().as_str()),
        (Severity::Error, "data..dockerconfigjson")
    );
    for not_one in
        [json!({"kind": "ConfigMap", "metadata": {"name": "s"}}), json!({"kind": "Secret"}), json!(null)]
    {
        assert_eq!(Secret::from_manifest(&not_one, "team"), Err(SecretError::NotASecret));
    }
    let untyped = json!({"metadata": {"name": "s", "namespace": "n"}});
    assert_eq!(Secret::from_manifest(&untyped, "team").unwrap().kind, "Opaque");
}
