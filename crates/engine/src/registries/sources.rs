//! Where an image is pulled from, in order: first the mirrors, then the location. This module is also the only place
//! that decides which of these sources a pull uses.

use serde::Serialize;

use super::index::{matched, wildcard_suffix};
use super::{Mirror, PullFromMirror, RegistriesConf, Registry, RegistryEndpoint};
use crate::reference::{Reference, ReferenceError};

/// One place that an image can be pulled from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PullSource {
    /// The image reference to request from this source.
    pub reference: Reference,
    /// Whether the source is a mirror or the registry itself.
    pub role: SourceRole,
    /// Which pulls the source serves.
    pub serves: MirrorUse,
    /// Whether plain HTTP and unverified certificates are accepted.
    pub insecure: bool,
    /// The upstream to name to a proxying registry. Empty if none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace_proxy: String,
    /// The prefix of the entry that blocks this source: the entry that governs the *rewritten* name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
}

/// Why a source is in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceRole {
    /// A mirror of the governing entry.
    Mirror,
    /// The location of the governing entry.
    Location,
    /// No entry governs the name, so it is requested as it is.
    Direct,
}

/// Which pulls a source serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MirrorUse {
    /// Pulls by tag and by digest.
    All,
    /// Only pulls by digest.
    DigestOnly,
    /// Only pulls by tag.
    TagOnly,
}

/// How a pull identifies the image, which decides which mirrors serve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PullBy {
    /// By tag.
    Tag,
    /// By digest.
    Digest,
    /// By either, for callers that prepare a pull without knowing the version, as the plugin does.
    Any,
}

impl PullBy {
    /// Returns how a pull of this reference identifies the image. A digest takes precedence over a tag.
    #[must_use]
    pub fn of(reference: &Reference) -> Self {
        if reference.digest().is_some() { Self::Digest } else { Self::Tag }
    }
}

impl MirrorUse {
    /// Returns whether such a source serves a pull by `by`.
    #[must_use]
    pub fn serves(self, by: PullBy) -> bool {
        match (self, by) {
            (Self::All, _) | (_, PullBy::Any) => true,
            (Self::DigestOnly, by) => by == PullBy::Digest,
            (Self::TagOnly, by) => by == PullBy::Tag,
        }
    }
}

/// Why a pull does not use a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAsked<'a> {
    /// The source serves only the other kind of pull.
    ServesOnly(MirrorUse),
    /// The `registries.conf` entry with this prefix blocks the source.
    BlockedBy(&'a str),
}

impl PullSource {
    /// Returns whether a pull by `by` uses this source.
    #[must_use]
    pub fn is_asked(&self, by: PullBy) -> bool {
        self.not_asked(by).is_none()
    }

    /// Returns why a pull by `by` does not use this source, or `None` if it does.
    #[must_use]
    pub fn not_asked(&self, by: PullBy) -> Option<NotAsked<'_>> {
        if !self.serves.serves(by) {
            return Some(NotAsked::ServesOnly(self.serves));
        }
        self.blocked_by.as_deref().map(NotAsked::BlockedBy)
    }
}

/// Where a pull goes: every source of the image, and how the pull selects among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// How the pull identifies the image.
    pub by: PullBy,
    /// All sources in order, including those that the pull does not use.
    pub sources: Vec<PullSource>,
    /// Why CRI-O uses no source at all: the name cannot be rewritten for one that serves this pull.
    pub fails: Option<RewriteError>,
}

/// Why a name cannot be rewritten for a source. The runtime then pulls from none of the sources.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// The entry does not govern the name.
    #[error("invalid prefix '{prefix}' for reference '{reference}'")]
    Prefix {
        /// The entry's prefix.
        prefix: String,
        /// The requested reference.
        reference: String,
    },
    /// Only subdomain wildcards may omit the location.
    #[error("invalid prefix '{0}' for empty location, should be in the format: *.example.com")]
    NoLocation(String),
    /// The location followed by the rest of the name is not a valid reference.
    #[error("rewriting reference: {0}")]
    Reference(#[from] ReferenceError),
}

impl RegistriesConf {
    /// Returns the sources that serve a pull of `reference`, in order. Blocked ones are included; see
    /// [`PullSource::is_asked`].
    ///
    /// # Errors
    /// If the name cannot be rewritten for any one of the sources, because the runtime then fails the pull.
    pub fn pull_sources(&self, reference: &Reference) -> Result<Vec<PullSource>, RewriteError> {
        let Some(registry) = self.find(reference.name()) else {
            return Ok(vec![direct(reference)]);
        };
        let by = PullBy::of(reference);
        endpoints(registry)
            .filter(|(_, serves, _)| serves.serves(by))
            .map(|endpoint| self.source(registry, reference, endpoint))
            .collect()
    }

    /// Returns the sources for all pulls of this repository, by tag or by digest. Omits sources for which the name
    /// cannot be rewritten, because no pull ever reaches them.
    #[must_use]
    pub fn all_sources(&self, reference: &Reference) -> Vec<PullSource> {
        self.route(reference, PullBy::Any).sources
    }

    /// Returns where a pull of `reference` by `by` goes.
    #[must_use]
    pub fn route(&self, reference: &Reference, by: PullBy) -> Route {
        let Some(registry) = self.find(reference.name()) else {
            return Route { by, sources: vec![direct(reference)], fails: None };
        };
        let mut route = Route { by, sources: Vec::with_capacity(registry.mirrors.len() + 1), fails: None };
        for endpoint in endpoints(registry) {
            match self.source(registry, reference, endpoint) {
                Ok(source) => route.sources.push(source),
                Err(error) if endpoint.1.serves(by) && route.fails.is_none() => route.fails = Some(error),
                Err(_) => {}
            }
        }
        route
    }

    fn source(
        &self,
        registry: &Registry,
        reference: &Reference,
        (role, serves, endpoint): (SourceRole, MirrorUse, &RegistryEndpoint),
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
    /// Returns which pulls a mirror of this entry serves.
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

/// Returns the only source of a name that no entry governs.
fn direct(reference: &Reference) -> PullSource {
    PullSource {
        reference: reference.clone(),
        role: SourceRole::Direct,
        serves: MirrorUse::All,
        insecure: false,
        namespace_proxy: String::new(),
        blocked_by: None,
    }
}

fn endpoints(registry: &Registry) -> impl Iterator<Item = (SourceRole, MirrorUse, &RegistryEndpoint)> {
    let mirrors =
        registry.mirrors.iter().map(|mirror| (SourceRole::Mirror, registry.use_of(mirror), &mirror.endpoint));
    mirrors.chain([(SourceRole::Location, MirrorUse::All, &registry.endpoint)])
}

/// Replaces the part of the reference that `prefix` matches with `location`.
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
