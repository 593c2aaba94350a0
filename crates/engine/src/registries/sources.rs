//! What is asked for an image, in order: the mirrors that serve this kind of pull, then the location.

use serde::Serialize;

use super::index::{matched, wildcard_suffix};
use super::{Endpoint, Mirror, PullFromMirror, RegistriesConf, Registry};
use crate::reference::{Reference, ReferenceError};

/// One place that an image may be pulled from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PullSource {
    /// The image as it is asked for there.
    pub reference: Reference,
    /// Mirror or last resort.
    pub role: Role,
    /// Which pulls it serves.
    pub serves: MirrorUse,
    /// Whether plain HTTP and unverified certificates are accepted.
    pub insecure: bool,
    /// The upstream named to a proxying registry; empty if none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace_proxy: String,
    /// The prefix of the entry that forbids asking there: the one that governs the *rewritten* name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
}

/// Why a source is in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A mirror of the governing entry.
    Mirror,
    /// The location of the governing entry.
    Location,
    /// No entry governs the name; it is asked for as it is.
    Direct,
}

/// Which pulls a source serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MirrorUse {
    /// By tag and by digest.
    All,
    /// Only pulls by digest.
    DigestOnly,
    /// Only pulls by tag.
    TagOnly,
}

impl MirrorUse {
    /// Whether a pull of this reference goes there. A digest decides, even beside a tag.
    #[must_use]
    pub fn serves(self, reference: &Reference) -> bool {
        match self {
            Self::All => true,
            Self::DigestOnly => reference.digest().is_some(),
            Self::TagOnly => reference.digest().is_none(),
        }
    }
}

/// Why a name cannot be rewritten for a source. The runtime then pulls from none of the sources.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// The entry does not govern the name.
    #[error("invalid prefix '{prefix}' for reference '{reference}'")]
    Prefix {
        /// The entry's prefix.
        prefix: String,
        /// What was asked for.
        reference: String,
    },
    /// Only subdomain wildcards can do without a location.
    #[error("invalid prefix '{0}' for empty location, should be in the format: *.example.com")]
    NoLocation(String),
    /// Location and remainder together are no reference.
    #[error("rewriting reference: {0}")]
    Reference(#[from] ReferenceError),
}

impl RegistriesConf {
    /// What a pull of `reference` asks, in order.
    ///
    /// # Errors
    /// If the name cannot be rewritten for any one source, as the runtime then fails the pull.
    pub fn pull_sources(&self, reference: &Reference) -> Result<Vec<PullSource>, RewriteError> {
        let Some(registry) = self.find(reference.name()) else {
            return Ok(vec![direct(reference)]);
        };
        endpoints(registry)
            .filter(|(_, serves, _)| serves.serves(reference))
            .map(|endpoint| self.source(registry, reference, endpoint))
            .collect()
    }

    /// What any pull of this repository, by tag or by digest, may ask; sources for which the name cannot be
    /// rewritten are left out, since no pull ever reaches them.
    #[must_use]
    pub fn all_sources(&self, reference: &Reference) -> Vec<PullSource> {
        let Some(registry) = self.find(reference.name()) else {
            return vec![direct(reference)];
        };
        endpoints(registry).filter_map(|endpoint| self.source(registry, reference, endpoint).ok()).collect()
    }

    fn source(
        &self,
        registry: &Registry,
        reference: &Reference,
        (role, serves, endpoint): (Role, MirrorUse, &Endpoint),
    ) -> Result<PullSource, RewriteError> {
        let reference = rewrite(reference, &registry.prefix, &endpoint.location)?;
        Ok(PullSource {
            role,
            serves,
            insecure: endpoint.insecure,
            namespace_proxy: endpoint.namespace_proxy.clone(),
            blocked_by: self
                .find(reference.name())
                .filter(|entry| entry.blocked)
                .map(|entry| entry.prefix.clone()),
            reference,
        })
    }
}

impl Registry {
    /// Which pulls a mirror of this entry serves.
    #[must_use]
    pub fn use_of(&self, mirror: &Mirror) -> MirrorUse {
        match mirror.pull_from_mirror {
            _ if self.mirror_by_digest_only => MirrorUse::DigestOnly,
            None | Some(PullFromMirror::All) => MirrorUse::All,
            Some(PullFromMirror::DigestOnly) => MirrorUse::DigestOnly,
            Some(PullFromMirror::TagOnly) => MirrorUse::TagOnly,
        }
    }
}

/// The one source of a name that no entry governs.
fn direct(reference: &Reference) -> PullSource {
    PullSource {
        reference: reference.clone(),
        role: Role::Direct,
        serves: MirrorUse::All,
        insecure: false,
        namespace_proxy: String::new(),
        blocked_by: None,
    }
}

fn endpoints(registry: &Registry) -> impl Iterator<Item = (Role, MirrorUse, &Endpoint)> {
    let mirrors =
        registry.mirrors.iter().map(|mirror| (Role::Mirror, registry.use_of(mirror), &mirror.endpoint));
    mirrors.chain([(Role::Location, MirrorUse::All, &registry.endpoint)])
}

/// Puts `location` in place of what `prefix` matches.
pub(crate) fn rewrite(
    reference: &Reference,
    prefix: &str,
    location: &str,
) -> Result<Reference, RewriteError> {
    let text = reference.to_string();
    let Some(end) = matched(&text, prefix) else {
        return Err(RewriteError::Prefix { prefix: prefix.to_owned(), reference: text });
    };
    if location.is_empty() {
        return match wildcard_suffix(prefix) {
            Some(_) => Ok(reference.clone()),
            None => Err(RewriteError::NoLocation(prefix.to_owned())),
        };
    }
    Ok(Reference::parse_canonical(&format!("{location}{}", &text[end..]))?)
}
