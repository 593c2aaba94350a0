//! The objects as they are written: strings that nobody has checked yet.

use serde::Serialize;

use super::ObjectName;
use crate::registries::PullFromMirror;
use pullwright_findings::DocPath;

/// The kinds of object that name mirrors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Kind {
    /// Mirrors for pulls by digest.
    ImageDigestMirrorSet,
    /// Mirrors for pulls by tag.
    ImageTagMirrorSet,
    /// The older way to name mirrors for pulls by digest; it has no policy.
    ImageContentSourcePolicy,
}

impl Kind {
    /// The kind as manifests name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ImageDigestMirrorSet => "ImageDigestMirrorSet",
            Self::ImageTagMirrorSet => "ImageTagMirrorSet",
            Self::ImageContentSourcePolicy => "ImageContentSourcePolicy",
        }
    }

    /// The list below `spec` that holds the rules.
    #[must_use]
    pub fn rules_field(self) -> &'static str {
        match self {
            Self::ImageDigestMirrorSet => "imageDigestMirrors",
            Self::ImageTagMirrorSet => "imageTagMirrors",
            Self::ImageContentSourcePolicy => "repositoryDigestMirrors",
        }
    }

    /// Which pulls its mirrors serve.
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
    /// It may not.
    NeverContactSource,
    /// It may, as if nothing were said.
    AllowContactingSource,
}

/// One item of an object's list.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Rule {
    /// What images are named by: `host[:port][/path]` or `*.host`.
    pub source: String,
    /// Where they may be pulled from instead, the preferred one first.
    pub mirrors: Vec<String>,
    /// What is said about the source itself, if anything.
    pub policy: Option<SourcePolicy>,
}

impl Rule {
    /// Whether it says that the source is not to be asked.
    pub(super) fn forbids_source(&self) -> bool {
        self.policy == Some(SourcePolicy::NeverContactSource)
    }
}

/// One object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct MirrorSet {
    /// What it is.
    pub kind: Kind,
    /// Its `metadata.name`.
    pub name: String,
    /// Its list, in the order of the object.
    pub rules: Vec<Rule>,
}

impl MirrorSet {
    /// What to call it in messages.
    #[must_use]
    pub fn object(&self) -> ObjectName {
        ObjectName { kind: self.kind.as_str(), name: self.name.clone() }
    }

    /// Where the rule of this index stands.
    pub(super) fn rule_at(&self, rule: usize) -> DocPath {
        DocPath::root().key("spec").key(self.kind.rules_field()).index(rule)
    }
}

/// `spec.registrySources` of `Image/cluster`, as far as it says anything about pulls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct RegistrySources {
    /// `insecureRegistries`: asked over plain HTTP or with certificates that nobody verifies.
    pub insecure: Vec<String>,
    /// `blockedRegistries`: never asked, neither as a source nor as a mirror.
    pub blocked: Vec<String>,
    /// `allowedRegistries`: checked here and otherwise left to the signature policy, where it takes effect.
    pub allowed: Vec<String>,
    /// `containerRuntimeSearchRegistries`: where names without a registry are looked for. `None` leaves that to
    /// the node's other files.
    pub search: Option<Vec<String>>,
}

impl RegistrySources {
    /// What to call the object in messages.
    #[must_use]
    pub fn object() -> ObjectName {
        ObjectName { kind: "Image", name: "cluster".to_owned() }
    }
}
