//! The module as its users see it: lookups, Secrets, selections and written files.

mod documents;
mod lint;
mod lookup;
mod secrets;
mod selection;
mod written_file;

use super::{AuthFile, Credential, PullSecret, Secret, SecretName, Sensitive};

fn auth_file(text: &str) -> AuthFile {
    AuthFile::parse(text.as_bytes()).unwrap()
}

fn basic(username: &str, password: &str) -> Credential {
    Credential::basic(username, password)
}

fn secret(name: &str, kind: &str, key: &str, document: &str) -> Secret {
    let name = SecretName { namespace: "team".into(), name: name.into() };
    let data = [(key.to_owned(), Sensitive::new(document.as_bytes().to_vec()))].into();
    Secret { name, kind: kind.into(), data }
}

/// A Secret of the usual type with these entries.
fn pull_secret(name: &str, auths: &str) -> PullSecret {
    let document = format!(r#"{{"auths": {auths}}}"#);
    PullSecret::read(&secret(name, "kubernetes.io/dockerconfigjson", ".dockerconfigjson", &document)).unwrap()
}
