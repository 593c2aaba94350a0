//! `policy.json`: which images a node accepts at all, by the name that is requested, no matter where they come from.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Payload;
use super::check::GoodSources;

/// The images that nodes accept, from `allowedRegistries` and `blockedRegistries` of `Image/cluster`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// For images outside all scopes.
    pub default: Requirement,
    /// For images inside a scope; the most specific scope applies.
    pub scopes: BTreeMap<String, Requirement>,
}

/// The requirement that an image must meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// Every image meets it.
    Accept,
    /// No image meets it.
    Reject,
}

/// The reason why there is no policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The two lists contradict each other about every registry that is on neither.
    #[error("invalid images config: only one of AllowedRegistries or BlockedRegistries may be specified")]
    BlockedAndAllowed,
    /// The list of allowed registries has entries, but all of them are invalid.
    #[error(
        "no entry of allowedRegistries can be used, and a policy that allows nothing would stop every pull"
    )]
    NothingAllowed,
}

impl PolicyError {
    /// Suggests how to fix it.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::BlockedAndAllowed => {
                "remove one of the lists; only the repository of the release image can be allowed beside blocked ones"
            }
            Self::NothingAllowed => "correct its entries, or remove the list",
        }
    }
}

impl Policy {
    /// Returns the policy, if anything is configured. `sources` must already be protected from blocking the payload.
    pub(super) fn new(
        sources: &GoodSources<'_>,
        payload: Option<&Payload>,
    ) -> Result<Option<Self>, PolicyError> {
        let blocked = || sources.blocked.iter().map(|(_, scope)| *scope);
        let repository = payload.map(Payload::repository);
        if sources.allowed.is_empty() && sources.names_allowed {
            return Err(PolicyError::NothingAllowed);
        }
        if sources.blocked.is_empty() {
            let allowed = with(&sources.allowed, Requirement::Accept);
            let policy = Self { default: Requirement::Reject, scopes: allowed.collect() };
            return Ok((!policy.scopes.is_empty()).then_some(policy));
        }
        if sources.allowed.iter().any(|scope| Some(*scope) != repository) {
            return Err(PolicyError::BlockedAndAllowed);
        }
        let mut scopes: BTreeMap<_, _> = with(blocked(), Requirement::Reject).collect();
        // Nodes request the image by this name even if it comes from a mirror.
        let reached = payload.filter(|it| !sources.allowed.is_empty() || !it.within(blocked()).is_empty());
        scopes.extend(with(reached.map(Payload::repository), Requirement::Accept));
        Ok(Some(Self { default: Requirement::Accept, scopes }))
    }

    /// Renders the file as the Machine Config Operator writes it: equal policies give equal bytes, without a final newline.
    #[must_use]
    pub fn render(&self) -> String {
        // Repositories of OpenShift's registry have two parts; the library refuses the file if a scope has a third.
        let short = self.scopes.iter().filter(|(scope, _)| scope.matches('/').count() < 3);
        let policy = json!({
            "default": self.default.written(),
            "transports": {
                "atomic": short.map(written).collect::<Map<_, _>>(),
                "docker": self.scopes.iter().map(written).collect::<Map<_, _>>(),
                "docker-daemon": { "": Requirement::Accept.written() },
            },
        });
        format!("{policy:#}")
    }
}

fn with<'a>(
    scopes: impl IntoIterator<Item = impl AsRef<str>> + 'a,
    requirement: Requirement,
) -> impl Iterator<Item = (String, Requirement)> {
    scopes.into_iter().map(move |scope| (scope.as_ref().to_owned(), requirement))
}

fn written((scope, requirement): (&String, &Requirement)) -> (String, Value) {
    (scope.clone(), requirement.written())
}

impl Requirement {
    fn written(self) -> Value {
        let kind = match self {
            Self::Accept => "insecureAcceptAnything",
            Self::Reject => "reject",
        };
        json!([{ "type": kind }])
    }
}
