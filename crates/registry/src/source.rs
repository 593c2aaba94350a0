//! One place to pull from, with the credential for it.

use pullwright_engine::credentials::{AuthFile, Credential, Lookup};
use pullwright_engine::reference::Reference;
use pullwright_engine::registries::PullSource;

/// One place to pull from, with the credential for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The image as it is asked for there.
    pub reference: Reference,
    /// Whether plain HTTP and unverified certificates are accepted.
    pub insecure: bool,
    /// The upstream named to a proxying registry; empty if none.
    pub namespace_proxy: String,
    /// The entry of `registries.conf` that forbids asking there.
    pub blocked_by: Option<String>,
    /// What the registry is shown if it asks. A source whose credential cannot be told is not asked, as by the runtime: without
    /// it, it might give another answer than was meant.
    pub credential: Result<Option<Credential>, Untold>,
}

/// Why there is no telling which credential a source gets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Untold {
    /// The auth file leaves it to a program.
    #[error("the credential is with the credential helper {0:?}, which is not run here")]
    Helper(String),
    /// The entry for it cannot be read.
    #[error("looking up the credential: {0}")]
    Lookup(String),
}

impl Source {
    /// A planned source, with a credential or none.
    #[must_use]
    pub fn new(planned: &PullSource, credential: Option<Credential>) -> Self {
        Self {
            reference: planned.reference.clone(),
            insecure: planned.insecure,
            namespace_proxy: planned.namespace_proxy.clone(),
            blocked_by: planned.blocked_by.clone(),
            credential: Ok(credential),
        }
    }

    /// A planned source, with the credential that the runtime would find for it in an auth file.
    #[must_use]
    pub fn with_auth_file(planned: &PullSource, file: &AuthFile) -> Self {
        let credential = match file.lookup(planned.reference.name()) {
            Lookup::Found { credential, .. } => Ok(Some(credential)),
            Lookup::None { .. } => Ok(None),
            Lookup::Helper { name } => Err(Untold::Helper(name.to_owned())),
            Lookup::Failed(error) => Err(Untold::Lookup(error.to_string())),
        };
        Self { credential, ..Self::new(planned, None) }
    }
}

#[cfg(test)]
mod tests {
    use pullwright_engine::reference::Dialect;
    use pullwright_engine::registries::RegistriesConf;

    use super::*;

    #[test]
    fn an_auth_file_answers_as_it_does_for_the_runtime() {
        let file = r#"{
            "auths": {"a.example/team": {"auth": "dTpw"}, "broken.example": {"auth": "!"}},
            "credHelpers": {"h.example": "secretservice"}
        }"#;
        let file = AuthFile::parse(file.as_bytes()).unwrap();
        let credential = |image: &str| {
            let reference = Reference::parse(Dialect::Runtime, image).unwrap();
            let planned = RegistriesConf::default().pull_sources(&reference).unwrap();
            Source::with_auth_file(&planned[0], &file).credential
        };
        assert_eq!(credential("a.example/team/app"), Ok(Some(Credential::basic("u", "p"))));
        assert_eq!(credential("a.example/other/app"), Ok(None));
        assert_eq!(credential("h.example/app"), Err(Untold::Helper("secretservice".to_owned())));
        assert!(matches!(credential("broken.example/app"), Err(Untold::Lookup(_))));
    }
}
