//! The release image of a cluster: nodes must be able to pull it, whatever `blockedRegistries` contains, because they are
//! made from it.

use std::path::PathBuf;

use super::check::GoodSources;
use super::entries::Entries;
use super::render::read_back;
use super::scope::{ScopeMap, host_name};
use super::scopes::Scopes;
use super::sources::Source;
use crate::reference::{Reference, ReferenceError};
use crate::registries::PullBy;
use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::quote::quote;

/// The release image, as `ClusterVersion` names it: fully qualified, and by digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload(Reference);

/// The error for a text that does not name a release image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("error parsing reference of release image {}: {source}", quote(image))]
pub struct PayloadError {
    image: String,
    source: ReferenceError,
}

impl Payload {
    /// Parses the image.
    ///
    /// # Errors
    /// If the text is not a reference, or only a short form of one.
    pub fn parse(image: &str) -> Result<Self, PayloadError> {
        let parsed = Reference::parse_canonical(image);
        parsed.map(Self).map_err(|source| PayloadError { image: image.to_owned(), source })
    }

    /// The name of the image without tag and digest.
    #[must_use]
    pub fn repository(&self) -> &str {
        self.0.name()
    }

    /// Returns those of `scopes` that contain the image in its own registry.
    pub(super) fn within<'a>(&self, scopes: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        let mut map = ScopeMap::default();
        for scope in scopes {
            map.get_or_insert(scope, scope);
        }
        // On a node, the entry of a host without a port governs all ports of the host.
        let every_port = map.around(host_name(self.repository()));
        map.around(self.repository()).chain(every_port).collect()
    }
}

/// Removes the scopes that contain the payload from the blocked ones, unless nodes can pull it from a mirror.
pub(super) fn protect(
    payload: &Payload,
    by_digest: &[Source<'_>],
    by_tag: &[Source<'_>],
    sources: &mut GoodSources<'_>,
) {
    let around = payload.within(sources.blocked.iter().map(|(_, scope)| *scope));
    if !around.is_empty() && !can_be_pulled(payload, &Scopes::new(by_digest, by_tag, sources)) {
        sources.unblock(&around, blocks_payload);
    }
    if !sources.allowed.is_empty() && payload.within(sources.allowed.iter().copied()).is_empty() {
        sources.tell_allowed(|at| not_allowed(at, payload));
    }
}

/// Whether a node can pull the payload from anywhere if every setting applies. It is pulled by digest, so mirrors for tags
/// do not help.
fn can_be_pulled(Payload(payload): &Payload, scopes: &Scopes<'_>) -> bool {
    let entries = Entries::new(scopes);
    // An entry that cannot be read or rewritten fails on the node as well.
    let Ok(conf) = read_back(&entries.registries, None, PathBuf::new()) else { return false };
    let asked = conf.pull_sources(payload).unwrap_or_default();
    asked.iter().any(|source| {
        // The two checks differ where a node prefers a wildcard that is as long as the blocked scope.
        source.is_asked(PullBy::Digest) && !scopes.applied(source.reference.name()).blocked
    })
}

/// Uses the words of the Machine Config Operator.
fn blocks_payload(at: DocPath, scope: &str) -> Finding {
    let message = format!(
        "error adding [{}] to blocked registries, cannot block the repository being used by the payload",
        quote(scope)
    );
    Finding::new(&rules::registry_sources::BLOCKS_PAYLOAD, at, message)
}

fn not_allowed(at: DocPath, payload: &Payload) -> Finding {
    let repository = quote(payload.repository());
    let message = format!("the repository of the release image, {repository}, is not allowed");
    Finding::new(&rules::registry_sources::PAYLOAD_NOT_ALLOWED, at, message)
}
