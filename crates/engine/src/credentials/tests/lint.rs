//! What is told about an auth file, and that a good one gets no word.

use super::auth_file;
use crate::credentials::AuthFile;

fn told(auths: &str) -> Vec<String> {
    let findings = auth_file(&format!(r#"{{"auths": {auths}}}"#)).findings();
    findings.iter().map(|finding| format!("{}: {}", finding.at, finding.message)).collect()
}

#[test]
fn good_files_get_no_word() {
    for good in [
        include_str!("../../../testdata/auth/hosts-with-ports-and-without.json"),
        include_str!("../../../testdata/auth/keys-that-are-urls.json"),
        include_str!("../../../testdata/auth/keys-with-namespaces.json"),
        include_str!("../../../testdata/auth/identity-token-beside-auth.json"),
        r#"{"auths": {"docker.io": {"auth": "dTpw"}, "https://index.docker.io/v1/": {"auth": "dTpw"}}}"#,
        r#"{"auths": {"helped.local": {}}, "credHelpers": {"helped.local": "ecr-login"}}"#,
    ] {
        assert_eq!(auth_file(good).findings(), []);
    }
}

#[test]
fn each_trap_is_told_once() {
    for (auths, expected) in [
        (
            r#"{"q.io": {"auth": "dTpwOnE"}}"#,
            "auths.q.io.auth: every pull that finds this entry fails: illegal base64 data at input byte 4",
        ),
        (
            r#"{"q.io": {"auth": "cGFudHM="}}"#,
            "auths.q.io.auth: the auth field is not base64(username:password), so the entry counts as empty",
        ),
        (
            r#"{"q.io": {"username": "u", "password": "s3cret"}}"#,
            "auths.q.io: the runtime ignores an entry without auth",
        ),
        (r#"{"q.io/": {"auth": "dTpw"}}"#, "auths.q.io/: the runtime never finds a key that ends in a slash"),
        (
            r#"{"*.q.io": {"auth": "dTpw"}}"#,
            "auths.*.q.io: the key has a wildcard, and CRI-O does not know wildcards in credentials; the runtime never finds it",
        ),
        (
            r#"{"https://q.io/ns": {"auth": "dTpw"}}"#,
            "auths.https://q.io/ns: the runtime ignores the path of a URL and uses the entry for the whole host",
        ),
        (
            r#"{"https://q.io": {"auth": "dTpw"}, "http://q.io": {"auth": "dTpw"}}"#,
            "auths: http://q.io, https://q.io stand for one host, and the runtime takes any of them",
        ),
    ] {
        assert_eq!(told(auths), [expected]);
    }
    let store = auth_file(r#"{"credsStore": "x"}"#).findings();
    assert_eq!(store[0].rule.name(), "auth-file/creds-store");
    let refused = AuthFile::parse(br#"{"auths": {"q.io": []}}"#).unwrap_err().finding();
    assert_eq!(refused.at.to_string(), "auths.q.io");
}
