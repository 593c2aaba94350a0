//! The objects as users write them: the strings are not checked yet.

use serde::Serialize;

use super::ObjectName;
use crate::registries::PullFromMirror;
use pullwright_findings::DocPath;

/// The kinds of object that name mirrors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum MirrorSetKind {
    /// Mirrors for pulls by digest.
    ImageDigestMirrorSet,
    /// Mirrors for pulls by tag.
    ImageTagMirrorSet,
    /// The older way to name mirrors for pulls by digest; it has no policy.
    ImageContentSourcePolicy,
}

impl MirrorSetKind {
    /// The kind as it is written in manifests.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ImageDigestMirrorSet => "ImageDigestMirrorSet",
            Self::ImageTagMirrorSet => "ImageTagMirrorSet",
            Self::ImageContentSourcePolicy => "ImageContentSourcePolicy",
        }
    }

    /// The field below `spec` that holds the rules.
    #[must_use]
    pub fn rules_field(self) -> &'static str {
        match self {
            Self::ImageDigestMirrorSet => "imageDigestMirrors",
            Self::ImageTagMirrorSet => "imageTagMirrors",
            Self::ImageContentSourcePolicy => "repositoryDigestMirrors",
        }
    }

    /// The pulls that mirrors of this kind serve.
    #[must_use]
    pub fn serves(self) -> PullFromMirror {
        match self {
            Self::ImageDigestMirrorSet | Self::ImageContentSourcePolicy => PullFromMirror::DigestOnly,
            Self::ImageTagMirrorSet => PullFromMirror::TagOnly,
        }
    }
}

/// Whether the source itself may be asked when no mirror has the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum SourcePolicy {
    /// The source must not be asked.
    NeverContactSource,
    /// The source may be asked, which is also the default.
    AllowContactingSource,
}

/// One rule in the list of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct MirrorSetRule {
    /// The prefix of the image names: `host[:port][/path]` or `*.host`.
    pub source: String,
    /// The places to pull from instead, the preferred one first.
    pub mirrors: Vec<String>,
    /// Whether the source itself may be asked, if set.
    pub policy: Option<SourcePolicy>,
}

impl MirrorSetRule {
    /// Whether the rule forbids asking the source.
    pub(super) fn forbids_source(&self) -> bool {
        self.policy == Some(SourcePolicy::NeverContactSource)
    }
}

/// One mirror set object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct MirrorSet {
    /// The kind of the object.
    pub kind: MirrorSetKind,
    /// The `metadata.name` of the object.
    pub name: String,
    /// The rules, in the order of the object.
    pub rules: Vec<MirrorSetRule>,
}

impl MirrorSet {
    /// The name of the object in messages.
    #[must_use]
    pub fn object(&self) -> ObjectName {
        ObjectName { kind: self.kind.as_str(), name: self.name.clone() }
    }

    /// The path of the rule with this index.
    pub(super) fn rule_at(&self, rule: usize) -> DocPath {
        DocPath::root().key("spec").key(self.kind.rules_field()).index(rule)
    }
}

/// The parts of `spec.registrySources` of `Image/cluster` that are about pulls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct RegistrySources {
    /// `insecureRegistries`: asked over plain HTTP, or over TLS without verifying certificates.
    pub insecure: Vec<String>,
    /// `blockedRegistries`: never asked, neither as a source nor as a mirror.
    pub blocked: Vec<String>,
    /// `allowedRegistries`: only checked here; the signature policy enforces it.
    pub allowed: Vec<String>,
    /// `containerRuntimeSearchRegistries`: the registries to search for names without a registry. `None` leaves that to the
    /// node's other files.
    pub search: Option<Vec<String>>,
}

impl RegistrySources {
    /// The name of the object in messages.
    #[must_use]
    pub fn object() -> ObjectName {
        ObjectName { kind: "Image", name: "cluster".to_owned() }
    }
}
