//! One source of a pull, with the credential for it.

use pullwright_engine::credentials::{Absence, AuthFile, Choice, Credential, Lookup};
use pullwright_engine::plan::PlannedSource;
use pullwright_engine::registries::PullSource;

/// One source of a pull, with the credential for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The source and the conditions for its use. A source that the pull does not ask ([`PullSource::is_asked`]) fails
    /// without being contacted.
    pub from: PullSource,
    /// The credential to send if the registry asks for one. As in the runtime, a source whose credential is not known
    /// is not contacted: without the credential, it might give another answer than intended.
    pub credential: Result<Option<Credential>, CredentialError>,
}

/// Why the credential for a source is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The auth file leaves it to a credential helper.
    #[error("the credential is with the credential helper {0:?}, which is not run here")]
    Helper(String),
    /// The entry for it cannot be read.
    #[error("looking up the credential: {0}")]
    Lookup(String),
}

impl Source {
    /// Creates a source with a credential or none.
    #[must_use]
    pub fn new(from: &PullSource, credential: Option<Credential>) -> Self {
        Self { from: from.clone(), credential: Ok(credential) }
    }

    /// Creates a source of a plan, with the credential that the plan chose for it
    /// ([`PullPlan::credentials`](pullwright_engine::plan::PullPlan::credentials)).
    #[must_use]
    pub fn planned(planned: &PlannedSource, credential: Option<Credential>) -> Self {
        let credential = match &planned.credential {
            Choice::Helper { name } => Err(CredentialError::Helper(name.clone())),
            Choice::None(Absence::LookupFailed { error }) => Err(CredentialError::Lookup(error.clone())),
            Choice::Namespace { .. } | Choice::Global { .. } | Choice::None(_) => Ok(credential),
        };
        Self { from: planned.source.clone(), credential }
    }

    /// Creates a source with the credential that the runtime would find for it in an auth file.
    #[must_use]
    pub fn with_auth_file(from: &PullSource, file: &AuthFile) -> Self {
        let credential = match file.lookup(from.reference.name()) {
            Lookup::Found { credential, .. } => Ok(Some(credential)),
            Lookup::None { .. } => Ok(None),
            Lookup::Helper { name } => Err(CredentialError::Helper(name.to_owned())),
            Lookup::Failed(error) => Err(CredentialError::Lookup(error.to_string())),
        };
        Self { from: from.clone(), credential }
    }
}

#[cfg(test)]
mod tests {
    use pullwright_engine::reference::{Dialect, Reference};
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
        assert_eq!(credential("h.example/app"), Err(CredentialError::Helper("secretservice".to_owned())));
        assert!(matches!(credential("broken.example/app"), Err(CredentialError::Lookup(_))));
    }
}
