//! The release image of a cluster: what the nodes themselves are made from must stay within their reach, whatever
//! `blockedRegistries` says.

use std::path::PathBuf;

use super::check::GoodSources;
use super::entries::Entries;
use super::render::read_back;
use super::scope::{ScopeMap, host_name};
use super::scopes::Scopes;
use super::sources::Source;
use crate::reference::{Reference, ReferenceError};
use crate::registries::MirrorUse;
use pullwright_findings::{DocPath, Finding};
use pullwright_golang::quote::quote;

/// The release image, as `ClusterVersion` names it: in full, and by digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload(Reference);

/// Why a text names no release image.
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
    /// If the text is no reference, or a short form of one.
    pub fn parse(image: &str) -> Result<Self, PayloadError> {
        let parsed = Reference::parse_canonical(image);
        parsed.map(Self).map_err(|source| PayloadError { image: image.to_owned(), source })
    }

    /// The name of the image without tag and digest.
    #[must_use]
    pub fn repository(&self) -> &str {
        self.0.name()
    }

    /// The scopes that keep pulls of it from its own registry.
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

/// Takes the scopes that have the payload inside off the blocked ones, unless there is a mirror that nodes can have it
/// from.
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

/// Whether a node gets it from anywhere if everything that is said counts. It is pulled by digest, so mirrors for tags
/// are of no use.
fn can_be_pulled(Payload(payload): &Payload, scopes: &Scopes<'_>) -> bool {
    let entries = Entries::new(scopes);
    // What cannot be read or rewritten fails on the node as well.
    let Ok(conf) = read_back(&entries.registries, None, PathBuf::new()) else { return false };
    let asked = conf.pull_sources(payload).unwrap_or_default();
    asked.iter().filter(|source| source.serves != MirrorUse::TagOnly).any(|source| {
        // The two differ where a node prefers a wildcard that is as long as the blocked scope.
        source.blocked_by.is_none() && !scopes.applied(source.reference.name()).blocked
    })
}

/// In the words of the Machine Config Operator.
fn blocks_payload(at: DocPath, scope: &str) -> Finding {
    let message = format!(
        "error adding [{}] to blocked registries, cannot block the repository being used by the payload",
        quote(scope)
    );
    let help =
        "mirror the repository of the release image in an ImageDigestMirrorSet, to where nothing is blocked";
    Finding::error("registry-sources/blocks-payload", at, message).with_help(help)
}

fn not_allowed(at: DocPath, payload: &Payload) -> Finding {
    let repository = quote(payload.repository());
    let message = format!("the repository of the release image, {repository}, is not allowed");
    let help =
        "allow it and all registries that the cluster needs, or nodes can neither be added nor updated";
    Finding::warning("registry-sources/payload-not-allowed", at, message).with_help(help)
}
